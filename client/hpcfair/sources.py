"""Sources of encoder-decoders: texts or sounds to which a network computes an answer.

Their tensors, of which the mask is absent for sounds::

    input_ids       [batch, source]                tokens of a text
    attention_mask  [batch, past source + source]  1 for tokens, 0 for padding
    input_features  [batch, source, bins, frames]  spectra; an encoder has a state for two frames

The dimension ``source`` is empty after the first run. The keys and values of the source's states
are then in the cache.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hpcfair.typingnames import Self

IDS, MASK, FEATURES = "input_ids", "attention_mask", "input_features"
_FRAMES_OF_STATE = 2


class NamedTensor(Protocol):
    """An input or output of a network. A dimension is an integer, or a name if it is dynamic."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int | str, ...]: ...


def states_of(frames: int) -> int:
    """Number of an encoder's states of a spectrum."""
    return frames // _FRAMES_OF_STATE


@dataclass(frozen=True, slots=True)
class SourceInputs:
    """The inputs of a source.

    Attributes:
        name: Input of the source.
        shape: Its dimensions.
        length, past_length, mask_length: Dimensions of the source, of its states in the cache and
            of the mask; ``mask_length`` is ``None`` without a mask.
    """

    name: str
    shape: tuple[int | str, ...]
    length: str
    past_length: str
    mask_length: str | None

    @classmethod
    def of(cls, by_name: Mapping[str, NamedTensor], past: Sequence[NamedTensor]) -> Self | None:
        """That among inputs, of which ``past`` are the cache of a source; ``None`` without one."""
        is_sound = FEATURES in by_name
        tensor = by_name.get(FEATURES if is_sound else IDS)
        if not past or tensor is None or len(tensor.shape) != (4 if is_sound else 2):
            return None
        mask = by_name.get(MASK)
        length, past_length = tensor.shape[1], past[0].shape[2]
        mask_length = mask.shape[1] if mask else None
        if not isinstance(length, str) or not isinstance(past_length, str):
            return None
        if isinstance(mask_length, int) or not all(isinstance(n, int) for n in tensor.shape[2:]):
            return None
        return cls(tensor.name, tensor.shape, length, past_length, mask_length)

    @property
    def names(self) -> set[str]:
        """Its inputs."""
        return {self.name, MASK} if self.mask_length else {self.name}

    @property
    def is_sound(self) -> bool:
        """Whether it is one spectrum, not a text of any length."""
        return self.name == FEATURES

    def first_sizes(self, length: int) -> dict[str, int]:
        """Sizes of the run on a text of so many tokens, or on one spectrum."""
        return {self.length: 1 if self.is_sound else length, self.past_length: 0}

    def later_sizes(self, length: int) -> dict[str, int]:
        """Sizes of runs after it."""
        if self.is_sound:
            length = states_of(int(self.shape[3]))
        return {self.length: 0, self.past_length: length}

    def with_mask_length(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Sizes by dimension, with the length of the mask that belongs to the others."""
        if self.mask_length is None:
            return dict(sizes)
        return {**sizes, self.mask_length: sizes[self.past_length] + sizes[self.length]}
