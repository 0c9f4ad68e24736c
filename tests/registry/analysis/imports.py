"""A model with a drawn network, and profiles of it, for tests of imports."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

from registry.services.analysis.importedprofile import profile_import
from registry.tables import ImportedProfile, Revision, User
from tests import factories
from tests.registry import shopfloor
from tests.registry.drawings import document_of, draw
from tests.registry.profilefiles.recorded import onnxruntime_trace
from workers.testing import networks

NETWORKS: dict[str, tuple[Any, Any]] = {
    "residual-cnn": (networks.residual_cnn, {"x": np.ones((1, 3, 16, 16), np.float32)}),
    "transformer": (networks.transformer, {"ids": np.ones((1, 6), np.int64)}),
}


@cache
def trace_of(name: str) -> bytes:
    """A trace of ONNX Runtime of one of :data:`NETWORKS`."""
    make, inputs = NETWORKS[name]
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(make(), path)
        return onnxruntime_trace(path, inputs)


@dataclass
class Bench:
    """A model of alice with the network ``residual-cnn``."""

    private: bool = False
    name: str = "alice/cnn"
    floor: shopfloor.Floor = field(init=False)

    def __post_init__(self) -> None:
        self.floor = shopfloor.floor(self.name, private=self.private)
        draw(self.floor.graph, document_of(networks.residual_cnn()))

    @property
    def alice(self) -> User:
        return self.floor.alice

    @property
    def revision(self) -> Revision:
        return self.floor.revision

    def add(self, data: bytes | None = None, **values: Any) -> ImportedProfile:
        """Import a file, by default a trace of this network, as alice."""
        data = trace_of("residual-cnn") if data is None else data
        given = {"actor": self.alice, "target": "a laptop"} | values
        sha256 = factories.store(data, given["actor"]).sha256
        return profile_import(revision=self.revision, sha256=sha256, **given)
