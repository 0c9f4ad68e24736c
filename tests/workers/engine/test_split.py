"""A device of two machines: one builds, the other one runs the builds."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hpcfair.isolation.limits import Limits
from hpcfair.isolation.process import Interpreter
from tests.workers.engine.cast import NETWORK, TARGET
from workers.backends.fake.backend import FakeBackend
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.engine.othermachine import OtherMachine
from workers.engine.requests import TuningRequest
from workers.engine.types import Network

LIMITS = Limits(wall_s=300, memory_bytes=2**30, file_bytes=2**24)
BACKENDS = {"fake": FakeBackend()}
X = {"x": np.arange(16, dtype=np.float32).reshape(2, 8)}


@pytest.fixture
def network(tmp_path: Path) -> Network:
    (tmp_path / "model.onnx").write_bytes(b"pretend")
    return replace(NETWORK, model_path=tmp_path / "model.onnx")


def device_of(network: Network, folder: Path, other: OtherMachine) -> LocalDevice:
    (folder / "scratch").mkdir()
    request = TuningRequest(network, TARGET, tuple(BACKENDS), limits=LIMITS)
    return LocalDevice(request, BACKENDS, folder / "scratch", other=other)


def counted(log: Path) -> Interpreter:
    """A Python that adds a line to a file at each start. As programs that enter a container do, the
    program becomes the interpreter."""
    log.touch()
    here = Interpreter.here()
    return Interpreter(
        ("sh", "-c", f'echo start >> {log}; exec "$@"', "sh", *here.command), here.path
    )


@pytest.mark.parametrize(("built_here", "starts"), [({"fake"}, 1), (set(), 2)])
def test_builds_are_made_here_and_run_there(
    network: Network, tmp_path: Path, built_here: set[str], starts: int
) -> None:
    log = tmp_path / "log"
    other = OtherMachine(counted(log), frozenset(built_here))
    with device_of(network, tmp_path, other) as device:
        build = device.build("fake", BACKENDS["fake"].default(network, TARGET))
        assert build.outcome == "measured", build.detail
        with closing(device.open("fake", build, "candidate", X)) as session:
            assert session.run(X)
            assert len(session.time(3, 1).samples_ns) == 3
    assert log.read_text().count("start") == starts


def test_a_machine_that_does_not_start_a_child_is_no_fault_of_a_candidate(
    network: Network, tmp_path: Path
) -> None:
    missing = OtherMachine(Interpreter(("/nowhere/python",), ()))
    with device_of(network, tmp_path, missing) as device:
        with pytest.raises(CandidateFailed) as caught:
            device.test_set(1, 0)
        assert caught.value.outcome == "infrastructure"
