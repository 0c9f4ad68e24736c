"""The network that a build of mixed precision is made from."""

from dataclasses import dataclass
from pathlib import Path

from workers.engine.types import Network, Options


@dataclass(frozen=True, slots=True)
class SourceNetwork:
    """A network, and how it was read.

    Attributes:
        path: The ONNX file that was read: that of the network, or a rewritten one.
        artefact: The option that says which.
        runtime_options: Options that the runtime opens builds with.
    """

    network: Network
    path: Path
    artefact: str
    runtime_options: Options
