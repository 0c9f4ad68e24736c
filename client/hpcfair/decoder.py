"""Decoders with a cache: networks that continue a text and take what they computed of it before.

Exporters name the tensors of such a network alike (optimum, ONNX Runtime GenAI, this hub)::

    input_ids                    [batch, sequence]           new tokens
    attention_mask               [batch, past + sequence]    1 for tokens, 0 for padding
    position_ids                 [batch, sequence]
    past_key_values.N.key|value  [batch, heads, past, size]  the cache; empty at first
    logits                       [batch, sequence, tokens]
    present.N.key|value          [batch, heads, past + sequence, size]

The mask and the position ids may be absent. The length of the mask has a name of its own in a
signature, although it is the sum of two others.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hpcfair.typingnames import Self

IDS, MASK, POSITIONS, LOGITS = "input_ids", "attention_mask", "position_ids", "logits"
_PAST = re.compile(r"past_key_values\.(\d+\.(?:key|value))")


class NamedTensor(Protocol):
    """An input or output of a network. A dimension is an integer, or a name if it is dynamic."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int | str, ...]: ...


@dataclass(frozen=True, slots=True)
class DecoderInputs:
    """The inputs of a decoder with a cache.

    Attributes:
        names: All inputs.
        past: Inputs of the cache.
        batch, sequence, past_length, mask_length: Their dimensions; ``mask_length`` is ``None``
            without a mask.
    """

    names: frozenset[str]
    past: tuple[NamedTensor, ...]
    batch: int | str
    sequence: int | str
    past_length: str
    mask_length: int | str | None

    @classmethod
    def of(cls, inputs: Iterable[NamedTensor]) -> Self | None:
        """Those among the inputs of a network; ``None`` if it is no decoder with a cache."""
        by_name = {tensor.name: tensor for tensor in inputs}
        past = tuple(tensor for name, tensor in by_name.items() if _PAST.fullmatch(name))
        usual = {IDS, MASK, POSITIONS, *(tensor.name for tensor in past)}
        ids, mask = by_name.get(IDS), by_name.get(MASK)
        if not past or ids is None or by_name.keys() - usual:
            return None
        others = [by_name[name] for name in (MASK, POSITIONS) if name in by_name]
        if any(len(tensor.shape) != 2 for tensor in (ids, *others)):
            return None
        if any(len(tensor.shape) != 4 for tensor in past):
            return None
        length = past[0].shape[2]
        sizes = (size for tensor in past for size in (tensor.shape[1], tensor.shape[3]))
        if not isinstance(length, str) or not all(isinstance(size, int) for size in sizes):
            return None
        batch, sequence = ids.shape
        mask_length = mask.shape[1] if mask else None
        return cls(frozenset(by_name), past, batch, sequence, length, mask_length)

    def with_mask_length(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes by dimension, with the length of the mask that belongs to the others."""
        of_its_own = {self.batch, self.sequence, self.past_length}
        if not isinstance(self.mask_length, str) or self.mask_length in of_its_own:
            return dict(sizes)
        new = self.sequence if isinstance(self.sequence, int) else sizes[self.sequence]
        return {**sizes, self.mask_length: sizes[self.past_length] + new}

    def present_of(self, past: str) -> str:
        """Name of the output that is the cache after a run."""
        match = _PAST.fullmatch(past)
        return f"present.{match[1]}" if match else ""


def decoder_of(
    inputs: Iterable[NamedTensor], outputs: Iterable[NamedTensor]
) -> DecoderInputs | None:
    """The inputs of a decoder with a cache that gives logits and the next cache; else ``None``."""
    decoder = DecoderInputs.of(inputs)
    if decoder is None:
        return None
    ranks = {tensor.name: len(tensor.shape) for tensor in outputs}
    needed = {LOGITS: 3} | {decoder.present_of(tensor.name): 4 for tensor in decoder.past}
    return decoder if needed.items() <= ranks.items() else None
