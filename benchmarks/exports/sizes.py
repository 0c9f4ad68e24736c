"""Two scales of sizes, between which every architecture of this package chooses.

``small`` networks are built and searched within seconds: they say which graphs work. ``ordinary``
ones have the sizes that users run, so that they say what users gain: pictures of 224 pixels, 64 to
128 tokens, one to three seconds of sound, layers and widths of the small variants of papers. ONNX
Runtime takes some 2 to 60 ms for most of them on two cores; trees and perceptrons take less.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

SMALL, ORDINARY = SCALES = "small", "ordinary"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of one network. An architecture states those of both scales where it needs them.

    Attributes:
        chance: Draws sizes, and seeds of weights and samples.
        scale: One of :data:`SCALES`.
    """

    chance: random.Random
    scale: str

    def seed(self) -> int:
        """Of samples or weights."""
        return self.chance.randrange(2**31)

    def choice(self, small: Sequence[T], ordinary: Sequence[T]) -> T:
        """One of the sizes of this scale. Draws nothing where there is only one."""
        choices = self.value(small, ordinary)
        return choices[0] if len(choices) == 1 else self.chance.choice(choices)

    def value(self, small: T, ordinary: T) -> T:
        """The size of this scale, where it has only one."""
        return ordinary if self.scale == ORDINARY else small
