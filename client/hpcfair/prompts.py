"""Prompts as users pass them: token ids of one or several texts, or spectra of sounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hpcfair.errors import BadInput
from hpcfair.runtimes.base import Array
from hpcfair.sources import IDS, MASK, SourceInputs


def prompts_of(ids: Any, vocabulary: int, *, has_mask: bool) -> tuple[list[Array], bool]:
    """The prompts as arrays, and whether there is a single one.

    Args:
        vocabulary: Number of tokens.
        has_mask: Whether prompts can be filled up.

    Raises BadInput.
    """
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
        unknown = prompt[(prompt < 0) | (prompt >= vocabulary)]
        if unknown.size:
            raise BadInput(
                f"Prompt {number} has the token {int(unknown[0])}; the model knows {vocabulary} "
                "tokens, from 0 on.",
                "Use the tokeniser of this model.",
            )
    if len({*map(len, prompts)}) > 1 and not has_mask:
        raise BadInput(
            "The model takes no attention_mask, so that prompts in one call need one length.",
            "Generate for each prompt on its own.",
        )
    return prompts, rank == 1


def sounds_of(features: Any, source: SourceInputs) -> tuple[Array, bool]:
    """Spectra as one array, and whether there is a single one. Raises BadInput."""
    array, shape = np.asarray(features), source.shape[2:]
    is_single = array.ndim == len(shape)
    sounds = array[None] if is_single else array
    if array.dtype.kind != "f" or sounds.shape[1:] != shape or not len(sounds):
        raise BadInput(
            f"The sound is {array.dtype}{list(array.shape)}; the model takes spectra "
            f"{list(shape)} of real numbers, one or several.",
            "A feature extractor makes them: processor(samples, sampling_rate=...)"
            "['input_features'].",
        )
    return sounds.astype(np.float32), is_single


def require_length(texts: Sequence[Array], count: int, length: int | None) -> None:
    """Refuse texts that are too long with ``count`` new tokens. Raises BadInput."""
    for number, text in enumerate(texts):
        if length is not None and len(text) + count > length:
            raise BadInput(
                f"Prompt {number} has {len(text)} tokens, and {count} new ones make "
                f"{len(text) + count}; texts of this model have at most {length}.",
                "Shorten the prompt, or ask for fewer tokens.",
            )


def filled_up(prompts: Sequence[Array], *, in_front: bool) -> dict[str, Array]:
    """Token ids of one length, and the mask of what fills them up."""
    longest = max(map(len, prompts))
    # What fills up a prompt is masked; the token for it may be none of the network's.
    ids = np.zeros((len(prompts), longest), np.int64)
    mask = np.zeros((len(prompts), longest), np.int64)
    for row, prompt in enumerate(prompts):
        begin = longest - len(prompt) if in_front else 0
        ids[row, begin : begin + len(prompt)] = prompt
        mask[row, begin : begin + len(prompt)] = 1
    return {IDS: ids, MASK: mask}


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
