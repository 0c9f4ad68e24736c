"""Sizes of convolutions, by which backends choose an algorithm."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConvolutionSizes:
    """A convolution with stride 1, one group and constant float32 weights.

    Attributes:
        inputs, outputs: Channels.
        kernel, dilations, result: Sizes of the axes behind the channels, of equal number. Open
            dimensions of the network count as 1 in ``result``.
    """

    inputs: int
    outputs: int
    kernel: tuple[int, ...]
    dilations: tuple[int, ...]
    result: tuple[int, ...]


def convolution_sizes(documents: Iterable[Mapping[str, Any]]) -> tuple[ConvolutionSizes, ...]:
    """Sizes of convolutions from their JSON."""
    lists = ("kernel", "dilations", "result")
    return tuple(
        ConvolutionSizes(each["inputs"], each["outputs"], *(tuple(each[name]) for name in lists))
        for each in documents
    )
