"""Generates tokens by a decoder with a cache: a run for the prompts, and one for each new token."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from hpcfair.decoder import LOGITS, DecoderInputs, decoder_of
from hpcfair.errors import BadInput, NotSupported, RuntimeFailed
from hpcfair.firstrun import FirstRun
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
        start: Token or tokens with which answers of an encoder-decoder begin, such as those of a
            language and a task. Default: the one that these files state.
    """

    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    eos: int | Sequence[int] | None
    start: int | Sequence[int] | None


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
        self._config = GenerationConfig.read(folder(), options.get("eos"), options.get("start"))
        self._sampling = Sampling(
            options.get("temperature"), options.get("top_k"), options.get("top_p")
        )
        self._rng = np.random.default_rng(options.get("seed"))
        (logits,) = (tensor for tensor in signature.outputs if tensor.name == LOGITS)
        tokens = logits.shape[2]
        self._vocabulary = tokens if isinstance(tokens, int) else np.iinfo(np.int64).max

    def generate(self, ids: Any, max_new_tokens: int) -> Any:
        """See :meth:`Loaded.generate`."""
        first = self._first_run(ids, max_new_tokens)
        single = [first] if isinstance(self._decoder.batch, str) else first.rows()
        rows = [row for each in single for row in self._continued(each, max_new_tokens)]
        if first.is_single:
            return rows[0]
        longest = max(map(len, rows))
        if len({len(text) for text in first.texts}) > 1:
            return rows
        return np.stack(
            [np.pad(row, (0, longest - len(row)), constant_values=self._config.pad) for row in rows]
        )

    def stream(self, ids: Any, max_new_tokens: int) -> Iterator[int]:
        """See :meth:`Loaded.stream`."""
        first = self._first_run(ids, max_new_tokens)
        if not first.is_single:
            raise BadInput(
                "stream() continues one prompt, a list of token ids.", "Use generate() for many."
            )
        return (int(tokens[0]) for tokens in self._steps(first, max_new_tokens))

    def _first_run(self, ids: Any, count: int) -> FirstRun:
        if type(count) is not int or count < 1:
            raise BadInput(f"max_new_tokens is {count!r}, not a whole number from 1 on.")
        return FirstRun.of(ids, count, self._decoder, self._config, self._vocabulary)

    def _continued(self, first: FirstRun, count: int) -> list[Array]:
        """Each text with what follows, up to the token that ends it."""
        steps = list(self._steps(first, count))
        rows = []
        for row, text in enumerate(first.texts):
            new = np.array([tokens[row] for tokens in steps], np.int64)
            ends = np.flatnonzero(np.isin(new, self._config.eos))
            rows.append(np.concatenate([text, new[: ends[0] + 1] if ends.size else new]))
        return rows

    def _steps(self, first: FirstRun, count: int) -> Iterator[Array]:
        """The next token of each text, until all have ended; what follows an end is to be left
        out."""
        inputs, rules = dict(first.inputs), self._config.rules
        cache = first.empty_cache
        has_ended = np.zeros(len(first.texts), np.bool_)
        for step in range(count):
            outputs = self._run(inputs | cache)
            logits = _last(outputs[LOGITS])
            if self._decoder.source:
                logits = rules.applied(logits, step, count, len(first.texts[0]))
            tokens = self._sampling.choose(logits, self._rng)
            yield tokens
            has_ended |= np.isin(tokens, self._config.eos)
            if has_ended.all():
                return
            cache = {name: outputs[self._decoder.present_of(name)] for name in cache}
            inputs = first.inputs_after(inputs, tokens)


def _last(logits: Array) -> Array:
    """The logits behind the last token of each row."""
    last: Array = logits[:, -1]
    if np.isnan(last).any():
        raise RuntimeFailed(
            "The logits are not numbers (NaN).",
            "Load the published network, target=None, to see whether the build is the reason.",
        )
    return last
