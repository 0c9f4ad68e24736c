"""Builds made on this machine run on an emulated one: libraries, searches, schedules."""

from contextlib import closing
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from examples.emulated.enter import interpreter
from hpcfair.isolation.limits import Limits
from tests.programs import needs
from workers.backends import registry
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.local import LocalDevice
from workers.engine.othermachine import OtherMachine
from workers.engine.random_inputs import random_inputs
from workers.engine.requests import TuningRequest
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget
from workers.engine.types import Network, TargetSpec
from workers.testing import networks

pytestmark = [needs("tvm"), needs("lld"), needs("arm64"), needs("emulation"), pytest.mark.slow]

ARM = TargetSpec(
    "arm64-neoverse-n1-emulated",
    "arm64",
    frozenset({"asimd", "asimddp", "asimdhp", "emulated"}),
    2,
    None,
)
LIMITS = Limits(wall_s=600.0)
BUDGET = ScheduleBudget(seconds=None, trials=4, batch=4, candidates_to_confirm=2, rounds=2)


def split(network: Network, folder: Path) -> LocalDevice:
    """Built here, run on the emulated machine."""
    backends, missing = registry.available(ARM, ["tvm"], {"onnx"})
    assert not missing
    request = TuningRequest(network, ARM, ("tvm",), limits=LIMITS)
    (folder / "scratch").mkdir()
    other = OtherMachine(interpreter("arm64", folder), frozenset({"tvm"}))
    return LocalDevice(request, backends, folder / "scratch", other=other)


@pytest.mark.parametrize("name", ["mlp", "residual_cnn"])
def test_a_library_that_was_linked_here_computes_the_same_there(name: str, tmp_path: Path) -> None:
    network = networks.write(getattr(networks, name)(), tmp_path / "model")
    inputs = random_inputs(network, 3)
    backend = registry.get("tvm")
    options = {**backend.default(network, ARM), "shapes": "fixed"}
    with split(network, tmp_path) as device:
        build = device.build("tvm", options)
        assert build.outcome == "measured", build.detail
        with closing(device.open("tvm", build, "candidate", inputs)) as session:
            outputs = session.run(inputs)
            timing = session.time(3, 1)
        assert device.isolation == "rlimits"
    assert len(timing.samples_ns) == 3
    reference = ort.InferenceSession(network.model_path).run(None, inputs)
    np.testing.assert_allclose(outputs["scores"], reference[0], rtol=1e-4, atol=1e-5)


def test_schedules_are_built_here_in_slots_and_timed_there(tmp_path: Path) -> None:
    for name in ("apart", "scratch"):
        (tmp_path / name).mkdir()
    network = networks.write(networks.mlp(), tmp_path / "model")
    tasks = tasks_of(network, ARM, limits=LIMITS, scratch=tmp_path / "apart")
    heaviest = [max(tasks, key=lambda task: task.flops)]
    store = MemoryScheduleStore(heaviest)
    with TvmSchedules(
        target_of(ARM),
        limits=LIMITS,
        scratch=tmp_path / "scratch",
        batch=BUDGET.batch,
        device=OtherMachine(interpreter("arm64", tmp_path), slots=2),
    ) as compiler:
        result = tune_schedules(heaviest, compiler, store, BUDGET)
    outcomes = [trial.result for trial in store.own_trials()]
    assert len(outcomes) == BUDGET.trials
    assert {outcome.outcome for outcome in outcomes} <= {"measured", "pruned"}, outcomes
    assert result.improved == (heaviest[0].key,)
    assert not list((tmp_path / "scratch" / "libraries").glob("*.so"))
