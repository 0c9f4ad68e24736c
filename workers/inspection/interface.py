"""The interface of a network in a format other than ONNX."""

from dataclasses import dataclass

from workers.engine.types import TensorSpec


class Unusable(Exception):
    """A file that cannot or must not be used, with the reason. The revision remains usable."""


@dataclass(frozen=True, slots=True)
class Interface:
    """Inputs and outputs in the order of the file; dynamic dimensions are not integers."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
