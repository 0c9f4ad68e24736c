"""What inspection says about a form of a network besides ONNX."""

from dataclasses import dataclass

from workers.engine.types import TensorSpec


class Unusable(Exception):
    """A form that must not or cannot be used; says why. The revision is none the worse for it."""


@dataclass(frozen=True, slots=True)
class Interface:
    """What a form takes and gives, in its order; open dimensions have no integer."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
