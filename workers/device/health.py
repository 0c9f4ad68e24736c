"""Health checks: whether this machine computes correctly, and can do what jobs need."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.digest import sha256_of_file
from hpcfair.healthcheck import HealthCheck, answer, health_check
from hpcfair.isolation.limits import Limits
from hpcfair.isolation.sandbox import LEVELS
from workers.backends.registry import reference_for
from workers.device.ports import DeviceSettings, JobDevice
from workers.device.toolchain import backends_of, other_machine
from workers.device.workspace import workspace
from workers.engine.child import Child, call
from workers.engine.errors import BackendUnavailable, CandidateFailed, InvalidCandidate
from workers.engine.requests import TuningRequest
from workers.engine.types import Network, tensor_specs
from workers.fleet.probe import ThisMachine

#: Free space of the workspace folder in bytes, below which even builds of small networks fail.
_LEAST_FREE_BYTES = 2 * 2**30
_WALL_S = 120.0
_WRITE = "workers.device.health_network:write"
#: Formats in which the network is offered to backends.
_FORMATS = ("onnx",)


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """Result of one check of a machine; ``detail`` is for people."""

    name: str
    is_ok: bool
    detail: str

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.is_ok, "detail": self.detail}


def solve(
    settings: DeviceSettings, here: ThisMachine, seed: int
) -> tuple[dict[str, list[int]], list[str]]:
    """Compute the network of a health check with every backend of this machine.

    Returns:
        Outputs by backend; and a sentence for each backend that failed.
    """
    check = health_check(seed)
    backends, _ = backends_of(here, settings.names(), _FORMATS)
    outputs: dict[str, list[int]] = {}
    failures: list[str] = []
    with workspace(settings.work, "health") as folder:
        network = _network(settings, folder, check)
        limits = _limits(settings)
        request = TuningRequest(network, here.spec, tuple(backends), limits=limits)
        scratch = folder / "scratch"
        scratch.mkdir()
        with settings.device(request, backends, scratch, other=other_machine(here)) as device:
            for name, backend in backends.items():
                try:
                    options = backend.default(network, here.spec)
                    outputs[name] = _outputs(device, name, options, check)
                except (CandidateFailed, InvalidCandidate, BackendUnavailable) as error:
                    failures.append(f"{name} cannot compute the health check: {error}")
    return outputs, failures


def machine_checks(settings: DeviceSettings, here: ThisMachine) -> Iterator[MachineCheck]:
    """Check disk, confinement, and the outputs of each backend of this machine, in this order."""
    settings.work.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.work).free
    yield MachineCheck("disk", free >= _LEAST_FREE_BYTES, f"{free / 2**30:.1f} GiB are free")
    try:
        with workspace(settings.work, "health") as folder, Child(Limits(), folder) as child:
            level = child.isolation
    except CandidateFailed as error:
        yield MachineCheck("confinement", is_ok=False, detail=str(error))
        return
    is_enough = LEVELS.index(level) >= LEVELS.index(settings.isolation)
    yield MachineCheck("confinement", is_enough, level)
    seed = int.from_bytes(os.urandom(4))
    outputs, failures = solve(settings, here, seed)
    expected = answer(health_check(seed))
    for name, output in outputs.items():
        detail = "computes correctly" if output == expected else "computes wrong outputs"
        yield MachineCheck(name, output == expected, detail)
    is_complete = reference_for(here.spec) in outputs
    detail = " ".join(failures) or ", ".join(outputs)
    yield MachineCheck("backends", is_complete and not failures, detail)


def _outputs(
    device: JobDevice, name: str, options: dict[str, Any], check: HealthCheck
) -> list[int]:
    build = device.build(name, options)
    if build.outcome != "measured":
        raise CandidateFailed(build.outcome, build.detail)
    inputs = {"x": np.asarray(check.x, np.float32)}
    with closing(device.open(name, build, "candidate", inputs)) as session:
        output = session.run(inputs)["y"]
    if output.shape != (len(check.x), len(check.w2[0])) or not np.isfinite(output).all():
        raise CandidateFailed("wrong-output", f"outputs of the shape {output.shape}")
    return [int(value) for value in np.rint(output).astype(np.int64).ravel()]


def _network(settings: DeviceSettings, folder: Path, check: HealthCheck) -> Network:
    model = folder / "model" / "model.onnx"
    model.parent.mkdir()
    call(_WRITE, limits=_limits(settings), workspace=model.parent, path=str(model), seed=check.seed)
    rows, inputs, hidden, outputs = len(check.x), len(check.w1), len(check.w2), len(check.w2[0])
    digest = sha256_of_file(model)
    return Network(
        model_path=model,
        model_sha256=digest,
        graph_hash=digest,
        architecture_class="mlp",
        inputs=tensor_specs([{"name": "x", "dtype": "float32", "shape": [rows, inputs]}]),
        outputs=tensor_specs([{"name": "y", "dtype": "float32", "shape": [rows, outputs]}]),
        operators={"MatMul": 2, "Relu": 1},
        parameters=hidden * (inputs + outputs),
        macs=rows * hidden * (inputs + outputs),
    )


def _limits(settings: DeviceSettings) -> Limits:
    return Limits(wall_s=_WALL_S, memory_bytes=settings.child_memory_bytes)
