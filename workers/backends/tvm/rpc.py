"""Runs TVM's builds on a device that is too small for the agent, by TVM's RPC.

The agent runs on a machine beside the device. Builds and the reference are made there; the device
runs only TVM's RPC server.

The dangers of that protocol are described in :mod:`workers.backends.tvm.rpcserver`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

import workers.backends.tvm.without_torch  # noqa: F401
from hpcfair.measurement.types import Timing
from hpcfair.runtimes.tvm import SIGNATURE
from workers.backends.tvm.rpcserver import RpcConnection, RpcServer
from workers.engine.errors import CandidateFailed, InfrastructureFailed
from workers.engine.local import LocalDevice
from workers.engine.normalform import NormalForm
from workers.engine.ports import Array, Backend, EnergyCounter, RunningSession
from workers.engine.profile import Profile
from workers.engine.requests import TuningRequest
from workers.engine.testset import TestSet
from workers.engine.types import BuildResult, Options

#: The backend whose builds a server runs.
BACKEND = "tvm"
_MAIN = "main"
_LONGEST_DETAIL = 1000


class RpcDevice:
    """A :class:`~workers.engine.ports.Device` that builds on this machine and runs builds of TVM on
    a server.

    The reference and the test set are computed on this machine, in confined child processes. The
    arguments are those
    of :class:`~workers.engine.local.LocalDevice`.

    Args:
        server: The server that runs builds of the backend ``tvm``.

    Attributes:
        isolation: ``none``: nothing confines a build on the server.
        counters: Empty: energy counters of this machine do not measure the device.
    """

    isolation: str = "none"

    def __init__(
        self,
        request: TuningRequest,
        backends: Mapping[str, Backend],
        scratch: Path,
        server: RpcServer,
    ) -> None:
        self.counters: Sequence[EnergyCounter] = ()
        self._here = LocalDevice(request, backends, scratch)
        self._connection = RpcConnection(server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._here.__exit__()

    @property
    def normal_form(self) -> NormalForm | None:
        return self._here.normal_form

    def test_set(self, rows: int, seed: int) -> TestSet:
        return self._here.test_set(rows, seed)

    def fault_of(self, backend: str) -> str:
        """Why a backend cannot build on this machine; empty if it can."""
        return self._here.fault_of(backend)

    def build(self, backend: str, options: Options) -> BuildResult:
        return self._here.build(backend, options)

    def discard(self, build: BuildResult) -> None:
        self._here.discard(build)

    def profile(
        self, backend: str, build: BuildResult, inputs: Mapping[str, Array], out: Path
    ) -> Profile:
        del build, inputs, out
        raise CandidateFailed("invalid", f"TVM's RPC cannot profile builds of {backend}")

    def open(
        self, backend: str, build: BuildResult, role: str, inputs: Mapping[str, Array]
    ) -> RunningSession:
        if backend != BACKEND or role == "reference":
            return self._here.open(backend, build, role, inputs)
        if build.directory is None:
            raise CandidateFailed("invalid", f"{role}: nothing was built: {build.detail}")
        return RpcSession(self._connection, build.directory / build.entry_point, inputs)


class RpcSession:
    """A :class:`~workers.engine.ports.RunningSession` of a library on a server.

    Args:
        library: The library, with its signature file in the same folder.
        inputs: The timing inputs, by name.

    Raises:
        InfrastructureFailed: the server does not answer.
        CandidateFailed: it cannot open the library.
    """

    def __init__(
        self, connection: RpcConnection, library: Path, inputs: Mapping[str, Array]
    ) -> None:
        signature = json.loads((library.parent / SIGNATURE).read_text("utf-8"))
        self._inputs = [tensor["name"] for tensor in signature["inputs"]]
        self._outputs = [tensor["name"] for tensor in signature["outputs"]]
        self._by_row = bool(signature["by_row"])
        self._timing_input = inputs
        self._library = library
        self._connection = connection
        with self._as_failures("open"):
            connection.machine(library)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        arrays = [np.ascontiguousarray(inputs[name]) for name in self._inputs]
        with self._as_failures("run"):
            if not self._by_row:
                return self._once(arrays)
            rows = [self._once([a[i : i + 1] for a in arrays]) for i in range(len(arrays[0]))]
        return {name: np.concatenate([row[name] for row in rows]) for name in self._outputs}

    def time(self, runs: int, warmup: int) -> Timing:
        """Time runs by the clock of the device, without the connection. A build for one row is
        timed on the first row, and the time is multiplied by the number of rows."""
        arrays = [np.ascontiguousarray(self._timing_input[name]) for name in self._inputs]
        rows = len(arrays[0]) if self._by_row else 1
        with self._as_failures("time"):
            machine = self._machine_with([a[:1] for a in arrays] if self._by_row else arrays)
            for _ in range(warmup):
                machine.invoke_stateful(_MAIN)
            timer = machine.time_evaluator(
                "invoke_stateful", self._connection.processor, number=1, repeat=runs
            )
            seconds = timer(_MAIN).results
        samples = tuple(max(1, round(float(each) * rows * 1e9)) for each in seconds)
        if len(samples) != runs:
            raise CandidateFailed("infrastructure", "the server timed a wrong number of runs")
        return Timing(samples)

    def rest(self) -> None:
        """Do nothing: threads of the server do not disturb this machine."""

    def close(self) -> None:
        self._connection.unload(self._library)

    def _once(self, arrays: Sequence[Array]) -> dict[str, Array]:
        machine = self._machine_with(arrays)
        machine.invoke_stateful(_MAIN)
        outputs = machine.get_outputs(_MAIN)
        tensors = outputs if isinstance(outputs, tuple) else (outputs,)
        return {name: t.numpy() for name, t in zip(self._outputs, tensors, strict=True)}

    def _machine_with(self, arrays: Sequence[Array]) -> Any:
        """The virtual machine of the library, with its inputs set."""
        import tvm  # noqa: PLC0415  heavy

        machine = self._connection.machine(self._library)
        device = self._connection.processor
        machine.set_input(_MAIN, *(tvm.runtime.tensor(array, device) for array in arrays))
        return machine

    @contextmanager
    def _as_failures(self, act: str) -> Iterator[None]:
        """Raise errors of TVM as failures of the candidate. A crash of the library may have ended
        the session, too; it is then given up."""
        try:
            yield
        except InfrastructureFailed:
            raise
        # TVM's exceptions share no base below Exception.
        except Exception as error:
            self._connection.close_if_lost()
            raise _failed(act, error) from error


def _failed(act: str, error: Exception) -> CandidateFailed:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    detail = lines[-1] if lines else type(error).__name__
    return CandidateFailed("crash", f"the RPC server cannot {act} it: {detail}"[:_LONGEST_DETAIL])
