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

An encoder-decoder answers a source, which is a text or a sound (:mod:`hpcfair.sources`). The hub
converts it to one network as well. It takes the source in the first run, and an empty one later::

    decoder_input_ids                    [batch, sequence]
    past_key_values.N.decoder.key|value  [batch, heads, past, size]
    past_key_values.N.encoder.key|value  [batch, heads, past source, size]
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hpcfair.sources import IDS, MASK, NamedTensor, SourceInputs
from hpcfair.typingnames import Self

POSITIONS, LOGITS, ANSWER = "position_ids", "logits", "decoder_input_ids"
_PAST = re.compile(r"past_key_values\.(\d+\.(?:(?:de|en)coder\.)?(?:key|value))")


@dataclass(frozen=True, slots=True)
class DecoderInputs:
    """The inputs of a decoder with a cache.

    Attributes:
        names: All inputs.
        ids: Input of the new tokens.
        past: Inputs of the cache.
        batch, sequence, past_length, mask_length: Their dimensions; ``mask_length`` is ``None``
            without a mask of the tokens.
        source: Of an encoder-decoder.
    """

    names: frozenset[str]
    ids: str
    past: tuple[NamedTensor, ...]
    batch: int | str
    sequence: int | str
    past_length: str
    mask_length: int | str | None
    source: SourceInputs | None

    @classmethod
    def of(cls, inputs: Iterable[NamedTensor]) -> Self | None:
        """Those among the inputs of a network; ``None`` if it is no decoder with a cache."""
        by_name = {tensor.name: tensor for tensor in inputs}
        past = tuple(tensor for name, tensor in by_name.items() if _PAST.fullmatch(name))
        source = SourceInputs.of(by_name, [tensor for tensor in past if ".encoder." in tensor.name])
        own = [tensor for tensor in past if source is None or ".decoder." in tensor.name]
        name, others = (IDS, (MASK, POSITIONS)) if source is None else (ANSWER, ())
        usual = {name, *others, *(tensor.name for tensor in past)}
        ids = by_name.get(name)
        if not own or ids is None or by_name.keys() - usual - (source.names if source else set()):
            return None
        single = [by_name[each] for each in (name, *others) if each in by_name]
        if any(len(tensor.shape) != 2 for tensor in single):
            return None
        if any(len(tensor.shape) != 4 for tensor in past):
            return None
        length = own[0].shape[2]
        sizes = (size for tensor in past for size in (tensor.shape[1], tensor.shape[3]))
        if not isinstance(length, str) or not all(isinstance(size, int) for size in sizes):
            return None
        batch, sequence = ids.shape
        mask = by_name.get(MASK) if source is None else None
        mask_length = mask.shape[1] if mask else None
        names = frozenset(by_name)
        return cls(names, name, past, batch, sequence, length, mask_length, source)

    def prompt_sizes(self, length: int) -> dict[str, int]:
        """Sizes of the run for a prompt, or of a source, of so many tokens; the cache is empty."""
        if self.source is None:
            return {**self._sequence(length), self.past_length: 0}
        return {**self._sequence(1), self.past_length: 0, **self.source.first_sizes(length)}

    def further_sizes(self, length: int) -> dict[str, int]:
        """Sizes of the run for one further token after so many ones."""
        later = self.source.later_sizes(length) if self.source else {}
        return {**self._sequence(1), self.past_length: length, **later}

    def with_mask_length(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes by dimension, with the length of the mask that belongs to the others."""
        if self.source:
            return self.source.with_mask_length(sizes)
        of_its_own = {self.batch, self.sequence, self.past_length}
        if not isinstance(self.mask_length, str) or self.mask_length in of_its_own:
            return dict(sizes)
        new = self.sequence if isinstance(self.sequence, int) else sizes[self.sequence]
        return {**sizes, self.mask_length: sizes[self.past_length] + new}

    def present_of(self, past: str) -> str:
        """Name of the output that is the cache after a run."""
        match = _PAST.fullmatch(past)
        return f"present.{match[1]}" if match else ""

    def _sequence(self, length: int) -> dict[str, int]:
        return {self.sequence: length} if isinstance(self.sequence, str) else {}


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
