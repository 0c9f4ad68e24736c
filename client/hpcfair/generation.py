"""Generates tokens by a decoder with a cache: one run for the prompts, one for each further token.

Prompts of different lengths are filled up in front, as in ``transformers``, so that all of them end
with the same run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from hpcfair.decoder import IDS, LOGITS, MASK, POSITIONS, DecoderInputs, decoder_of
from hpcfair.errors import BadInput, NotSupported, RuntimeFailed
from hpcfair.generationconfig import GenerationConfig
from hpcfair.runtimes.base import Array
from hpcfair.sampling import Sampling
from hpcfair.signature import Signature
from hpcfair.typingnames import Unpack


class GenerationOptions(TypedDict, total=False):
    """Arguments of :meth:`Loaded.generate` beside prompts and length, all optional.

    Attributes:
        temperature: Tokens are chosen at random by their probabilities, sharper below 1, flatter
            above it. Default: the most probable token each time.
        top_k: Choose among so many of the most probable tokens only.
        top_p: Choose among the most probable tokens that together have this probability.
        seed: Of the random choices; equal seeds give equal tokens. Default: another one each time.
        eos: Token or tokens that end a text; an empty list for none. Default: those of
            ``generation_config.json`` or ``config.json``.
    """

    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    eos: int | Sequence[int] | None


class TokenGenerator:
    """Generates by one model.

    Args:
        run: Runs the model on inputs by name.
        folder: Returns the folder with the configuration of the model; ``None`` without any.

    Raises NotSupported: the model is no decoder with a cache.
    """

    def __init__(
        self,
        signature: Signature,
        run: Callable[[dict[str, Array]], Mapping[str, Array]],
        folder: Callable[[], Path | None],
        **options: Unpack[GenerationOptions],
    ) -> None:
        decoder = decoder_of(signature.inputs, signature.outputs)
        if decoder is None:
            raise NotSupported(
                "This model cannot generate: it is no decoder with a cache, which takes input_ids "
                "and past_key_values.N.key and .value, and gives logits and present.N.key and "
                f".value. It takes {signature.inputs_text()}.",
                "The hub converts folders of transformers with the cache; optimum exports it for "
                "the task text-generation-with-past.",
            )
        self._decoder: DecoderInputs = decoder
        self._run = run
        unknown = options.keys() - GenerationOptions.__annotations__.keys()
        if unknown:
            names = ", ".join(GenerationOptions.__annotations__)
            raise TypeError(f"generate() has no argument {min(unknown)!r}; it has {names}")
        self._config = GenerationConfig.read(folder(), options.get("eos"))
        self._sampling = Sampling(
            options.get("temperature"), options.get("top_k"), options.get("top_p")
        )
        self._rng = np.random.default_rng(options.get("seed"))
        (logits,) = (tensor for tensor in signature.outputs if tensor.name == LOGITS)
        tokens = logits.shape[2]
        self._vocabulary = tokens if isinstance(tokens, int) else np.iinfo(np.int64).max

    def generate(self, ids: Any, max_new_tokens: int) -> Any:
        """See :meth:`Loaded.generate`."""
        prompts, is_single = self._prompts(ids, max_new_tokens)
        if not isinstance(self._decoder.batch, str):
            rows = [self._continued([prompt], max_new_tokens)[0] for prompt in prompts]
        else:
            rows = self._continued(prompts, max_new_tokens)
        if is_single:
            return rows[0]
        longest = max(map(len, rows))
        if len({len(prompt) for prompt in prompts}) > 1:
            return rows
        return np.stack(
            [np.pad(row, (0, longest - len(row)), constant_values=self._config.pad) for row in rows]
        )

    def stream(self, ids: Any, max_new_tokens: int) -> Iterator[int]:
        """See :meth:`Loaded.stream`."""
        prompts, is_single = self._prompts(ids, max_new_tokens)
        if not is_single:
            raise BadInput(
                "stream() continues one prompt, a list of token ids.", "Use generate() for many."
            )
        return (int(tokens[0]) for tokens in self._steps(prompts, max_new_tokens))

    def _continued(self, prompts: Sequence[Array], count: int) -> list[Array]:
        """Each prompt with what follows, up to the token that ends it."""
        steps = list(self._steps(prompts, count))
        rows = []
        for row, prompt in enumerate(prompts):
            new = np.array([tokens[row] for tokens in steps], np.int64)
            ends = np.flatnonzero(np.isin(new, self._config.eos))
            rows.append(np.concatenate([prompt, new[: ends[0] + 1] if ends.size else new]))
        return rows

    def _steps(self, prompts: Sequence[Array], count: int) -> Iterator[Array]:
        """The next token of each prompt, until all have ended; what follows an end is to be left
        out."""
        decoder, rows = self._decoder, len(prompts)
        longest = max(map(len, prompts))
        # What fills up a prompt is masked; the token for it may be none of the network's.
        ids = np.zeros((rows, longest), np.int64)
        mask = np.zeros((rows, longest), np.int64)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = prompt
            mask[row, longest - len(prompt) :] = 1
        positions = np.maximum(mask.cumsum(axis=1) - 1, 0)
        cache = {
            tensor.name: np.zeros((rows, heads, 0, size), tensor.dtype)
            for tensor in decoder.past
            for heads, size in [(int(tensor.shape[1]), int(tensor.shape[3]))]
        }
        has_ended = np.zeros(rows, np.bool_)
        for _ in range(count):
            inputs = {IDS: ids, MASK: mask, POSITIONS: positions}
            outputs = self._run({n: a for n, a in inputs.items() if n in decoder.names} | cache)
            tokens = self._sampling.choose(_last(outputs[LOGITS]), self._rng)
            yield tokens
            has_ended |= np.isin(tokens, self._config.eos)
            if has_ended.all():
                return
            cache = {name: outputs[decoder.present_of(name)] for name in cache}
            ids, positions = tokens[:, None], positions[:, -1:] + 1
            mask = np.concatenate([mask, np.ones((rows, 1), np.int64)], axis=1)

    def _prompts(self, ids: Any, count: int) -> tuple[list[Array], bool]:
        """The prompts as arrays, and whether there is a single one. Raises BadInput."""
        if type(count) is not int or count < 1:
            raise BadInput(f"max_new_tokens is {count!r}, not a whole number from 1 on.")
        rank = _rank(ids)
        if rank not in (1, 2):
            raise BadInput(
                "Prompts are token ids: a list or array of one prompt, or of several.",
                "A tokeniser makes them from text: tokenizer(text)['input_ids'].",
            )
        prompts = [_prompt(each, number) for number, each in enumerate([ids] if rank == 1 else ids)]
        if not prompts:
            raise BadInput("There is no prompt.")
        for number, prompt in enumerate(prompts):
            self._check(prompt, number, count)
        if len({*map(len, prompts)}) > 1 and MASK not in self._decoder.names:
            raise BadInput(
                "The model takes no attention_mask, so that prompts in one call need one length.",
                "Generate for each prompt on its own.",
            )
        return prompts, rank == 1

    def _check(self, prompt: Array, number: int, count: int) -> None:
        tokens, length = self._vocabulary, self._config.length
        unknown = prompt[(prompt < 0) | (prompt >= tokens)]
        if unknown.size:
            raise BadInput(
                f"Prompt {number} has the token {int(unknown[0])}; the model knows {tokens} "
                "tokens, from 0 on.",
                "Use the tokeniser of this model.",
            )
        if length is not None and len(prompt) + count > length:
            raise BadInput(
                f"Prompt {number} has {len(prompt)} tokens, and {count} new ones make "
                f"{len(prompt) + count}; texts of this model have at most {length}.",
                "Shorten the prompt, or ask for fewer tokens.",
            )


def _rank(ids: Any) -> int:
    """Number of dimensions of prompts, which may have different lengths; 0 for other objects."""
    if hasattr(ids, "ndim"):
        return int(ids.ndim)
    if not isinstance(ids, Sequence) or isinstance(ids, str | bytes):
        return 0
    return 1 if all(map(np.isscalar, ids)) else 2


def _prompt(ids: Any, number: int) -> Array:
    array = np.asarray(ids)
    if array.size == 0:
        raise BadInput(f"Prompt {number} is empty.", "Begin with the token that begins texts.")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise BadInput(
            f"Prompt {number} is {array.dtype}{list(array.shape)}, not one list of token ids."
        )
    return array.astype(np.int64)


def _last(logits: Array) -> Array:
    """The logits behind the last token of each row."""
    last: Array = logits[:, -1]
    if np.isnan(last).any():
        raise RuntimeFailed(
            "The logits are not numbers (NaN).",
            "Load the published network, target=None, to see whether the build is the reason.",
        )
    return last
