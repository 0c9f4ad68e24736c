"""TVM keeps the contract."""

from pathlib import Path

import pytest

from tests.programs import needs
from workers.backends.tvm.backend import TvmBackend
from workers.engine.local import LocalDevice
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, TargetSpec
from workers.testing.compiler_contract import CompilerContract
from workers.testing.in_process import InProcessDevice

pytestmark = needs("cc")


@pytest.mark.slow
class TestTvm(CompilerContract):
    backend = TvmBackend
    heavy = ("tvm", "tvm_ffi", "onnx")
    sampled = 0

    def device_for(self, network: Network, target: TargetSpec, folder: Path) -> LocalDevice:
        """Without processes: importing TVM takes seconds; test_tvm.py has one confined build."""
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        return InProcessDevice(
            TuningRequest(network, target, ("tvm",)), {"tvm": TvmBackend()}, scratch
        )
