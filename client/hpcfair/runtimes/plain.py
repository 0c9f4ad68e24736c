"""What opens a network as it was published: the yardstick that builds are compared with."""

from dataclasses import dataclass, field
from pathlib import Path

from hpcfair.runtimes.base import Options


@dataclass(frozen=True, slots=True)
class Plain:
    """A runtime with its options as they come, and those with which it changes nothing.

    Attributes:
        default: As its users have it who set nothing.
        reference: Without optimisations: what the network gives.
    """

    runtime: str
    default: Options = field(default_factory=dict)
    reference: Options = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.reference.items())
        return f"{self.runtime}, {options}"


ONNX = Plain("onnxruntime", {"default": True}, {"graph_optimization": "disable"})
_OTHERS = {".tflite": Plain("litert", {}, {"kernels": "reference"})}


def plain_of(path: Path) -> Plain:
    """What opens the published file ``path``: ONNX Runtime, or LiteRT a TensorFlow Lite file."""
    return _OTHERS.get(path.suffix.lower(), ONNX)
