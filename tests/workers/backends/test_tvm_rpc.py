"""TVM's builds run by TVM's RPC server on the loopback interface, as on a device without agent."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.programs import needs
from tests.workers.backends.rpcprograms import free_port, program
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.tvm.backend import TvmBackend
from workers.backends.tvm.rpc import RpcDevice, RpcSession
from workers.backends.tvm.rpcserver import RpcServer, connect
from workers.engine.errors import CandidateFailed, InfrastructureFailed
from workers.engine.local_session import LocalSession
from workers.engine.ports import Backend
from workers.engine.random_inputs import random_inputs
from workers.engine.requests import TuningRequest
from workers.engine.types import Network
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = [needs("cc"), needs("tvm"), pytest.mark.slow]

TARGET = this_target()
BACKENDS: dict[str, Backend] = {"tvm": TvmBackend(), "onnxruntime": OnnxRuntimeBackend()}


@pytest.fixture(scope="module")
def server() -> Iterator[RpcServer]:
    port = free_port()
    with program("rpc_server", port):
        yield RpcServer("127.0.0.1", port)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    (tmp_path / "scratch").mkdir()
    return networks.write(networks.mlp(), tmp_path / "model")


@pytest.fixture
def device(network: Network, server: RpcServer, tmp_path: Path) -> Iterator[RpcDevice]:
    request = TuningRequest(network, TARGET, tuple(BACKENDS))
    with RpcDevice(request, BACKENDS, tmp_path / "scratch", server) as device:
        yield device


def test_builds_made_here_run_there_with_the_outputs_of_the_reference(
    device: RpcDevice, network: Network
) -> None:
    inputs = random_inputs(network, 3)
    backend = BACKENDS["onnxruntime"]
    reference = device.build("onnxruntime", backend.reference(network, TARGET))
    with closing(device.open("onnxruntime", reference, "reference", inputs)) as session:
        assert isinstance(session, LocalSession)
        expected = session.run(inputs)
    for options in ({}, {"shapes": "fixed"}):
        chosen = {**BACKENDS["tvm"].default(network, TARGET), **options}
        built = device.build("tvm", chosen)
        assert built.outcome == "measured", built.detail
        with closing(device.open("tvm", built, "candidate", inputs)) as session:
            assert isinstance(session, RpcSession)
            outputs = session.run(inputs)
            assert outputs.keys() == expected.keys()
            for name, array in outputs.items():
                np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-5)
            timing = session.time(5, 1)
            assert len(timing.samples_ns) == 5
            assert min(timing.samples_ns) > 0


def test_baseline_and_candidate_are_open_at_once_on_a_server_with_one_session(
    device: RpcDevice, network: Network
) -> None:
    inputs = random_inputs(network, 3)
    default = BACKENDS["tvm"].default(network, TARGET)
    builds = [device.build("tvm", {**default, **more}) for more in ({}, {"shapes": "fixed"})]
    baseline = device.open("tvm", builds[0], "baseline", inputs)
    with closing(device.open("tvm", builds[1], "candidate", inputs)) as candidate:
        for _ in range(2):
            outputs = [session.run(inputs)["scores"] for session in (baseline, candidate)]
            np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-4, atol=1e-5)
            assert len(baseline.time(3, 0).samples_ns) == len(candidate.time(3, 0).samples_ns) == 3
    assert baseline.run(inputs)["scores"].shape == (1, 10)


def test_a_crash_on_the_server_is_the_candidates_and_then_the_servers(
    network: Network, tmp_path: Path
) -> None:
    """TVM's server in Python listens on after the process of a session crashed, and never answers
    again."""
    inputs = random_inputs(network, 1)
    port = free_port()
    request = TuningRequest(network, TARGET, ("tvm",))
    server = RpcServer("127.0.0.1", port, patience_s=2)
    with (
        program("rpc_server", port) as process,
        RpcDevice(request, BACKENDS, tmp_path / "scratch", server) as device,
    ):
        built = device.build("tvm", BACKENDS["tvm"].default(network, TARGET))
        session = device.open("tvm", built, "candidate", inputs)
        psutil.Process(process.pid).children(recursive=True)[-1].kill()
        with pytest.raises(CandidateFailed, match="cannot time it"):
            session.time(1, 0)
        with pytest.raises(InfrastructureFailed, match="Restart the server"):
            session.run(inputs)


def test_a_server_that_is_busy_is_waited_for_and_then_said() -> None:
    port = free_port()
    server = RpcServer("127.0.0.1", port, patience_s=2)
    with program("rpc_server", port):
        first = connect(server)
        with pytest.raises(InfrastructureFailed, match="serves another client"):
            connect(server)
        del first
        assert connect(server).cpu(0).exist


def test_sessions_come_one_after_another_from_a_tracker(network: Network, tmp_path: Path) -> None:
    inputs = random_inputs(network, 1)
    port, at = free_port(), free_port()
    with program("rpc_tracker", port):
        tracker = f"--tracker=127.0.0.1:{port}"
        with program("rpc_server", at, tracker, "--key=tiny", "--custom-addr=127.0.0.1"):
            server = RpcServer("127.0.0.1", port, "tiny", is_tracker=True)
            request = TuningRequest(network, TARGET, ("tvm",))
            with RpcDevice(request, BACKENDS, tmp_path / "scratch", server) as device:
                built = device.build("tvm", BACKENDS["tvm"].default(network, TARGET))
                for _ in range(2):
                    with closing(device.open("tvm", built, "candidate", inputs)) as session:
                        assert session.run(inputs)["scores"].shape == (1, 10)


def test_a_server_that_dies_is_an_infrastructure_failure(network: Network, tmp_path: Path) -> None:
    inputs = random_inputs(network, 1)
    port = free_port()
    request = TuningRequest(network, TARGET, ("tvm",))
    server = RpcServer("127.0.0.1", port)
    with RpcDevice(request, BACKENDS, tmp_path / "scratch", server) as device:
        built = device.build("tvm", BACKENDS["tvm"].default(network, TARGET))
        with pytest.raises(InfrastructureFailed, match=f"127.0.0.1:{port}"):
            device.open("tvm", built, "candidate", inputs)
        with program("rpc_server", port):
            session = device.open("tvm", built, "candidate", inputs)
        with pytest.raises(CandidateFailed, match="the RPC server cannot run it"):
            session.run(inputs)
        session.close()


def test_a_broken_build_is_refused_by_the_server(
    device: RpcDevice, network: Network, tmp_path: Path
) -> None:
    built = device.build("tvm", BACKENDS["tvm"].default(network, TARGET))
    assert built.directory is not None
    (built.directory / built.entry_point).write_bytes(b"no library")
    with pytest.raises(CandidateFailed, match="cannot open it"):
        device.open("tvm", built, "candidate", random_inputs(network, 1))


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",  # noqa: S104 - what is refused
        "192.168.1.7",
        "example.org",
        "",
        "::",
        "127.0.0.1.example.org",
    ],
)
def test_servers_that_others_can_reach_are_refused(host: str) -> None:
    with pytest.raises(ValueError, match="through a tunnel"):
        RpcServer(host, 9090)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_the_loopback_interface_is_accepted(host: str) -> None:
    assert RpcServer(host, 9090).host == host


def test_a_tracker_that_names_another_machine_is_not_followed(tmp_path: Path) -> None:
    """A tracker tells its clients where to connect."""
    del tmp_path
    port, at = free_port(), free_port()
    with program("rpc_tracker", port):
        elsewhere: Any = ("rpc_server", at, f"--tracker=127.0.0.1:{port}", "--key=tiny",
                          "--custom-addr=192.0.2.1")  # fmt: skip
        with program(*elsewhere), pytest.raises(InfrastructureFailed, match=r"192\.0\.2\.1"):
            connect(RpcServer("127.0.0.1", port, "tiny", is_tracker=True))
