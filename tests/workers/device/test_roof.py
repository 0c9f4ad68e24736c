"""The roofs of a machine: known work, disturbed rounds, and a measurement once for each tools."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from registry.selectors.analysis.roof import roofs_of_device
from registry.tables import Device, JobEvent, RoofSet
from tests.registry import shopfloor
from tests.registry.analysis.roofs import compute
from tests.workers.hubs import hub_of
from workers.device import roof, roof_memory, roof_network, roof_rounds
from workers.device.ports import DeviceSettings
from workers.device.roof import MeasuredRoofs, keep_roofs, measure_roofs
from workers.device.roof_rounds import MOST_ROUNDS, ROUNDS, measured_rounds
from workers.engine.contention import Load
from workers.engine.errors import CandidateFailed
from workers.engine.spent import Spent
from workers.fleet.probe import ThisMachine, this_machine
from workers.jobs.hub import RegistryHub

FAR = 1e18


@pytest.fixture
def settings_here(tmp_path: Path) -> DeviceSettings:
    return DeviceSettings(tmp_path / "work", 4 * 2**30)


@pytest.fixture
def hub(settings: Any, db: None) -> RegistryHub:
    settings.ROOFS_S = 5
    floor = shopfloor.floor()
    floor.tune()
    return hub_of(floor.claim())


def here() -> ThisMachine:
    return this_machine()


def answer(path: Path, value: float) -> float:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (output,) = session.run(None, {"x": np.full(1, value, np.float32)})
    return float(output)


def test_the_products_have_the_work_that_they_state(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    roof_network.write_products(str(path), 32, 3, is_int8=False)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    weights = {one.name: list(one.dims) for one in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    assert [weights[node.input[1]] for node in products] == [[32, 32]] * 3


def test_products_in_int8_are_close_to_those_in_float32(tmp_path: Path) -> None:
    answers = []
    for is_int8 in (False, True):
        path = tmp_path / f"{is_int8}.onnx"
        roof_network.write_products(str(path), 64, 1, is_int8=is_int8)
        answers.append(answer(path, 1.0))
    assert answers[0] > 0.1
    assert answers[1] == pytest.approx(answers[0], rel=0.05)


def test_the_traffic_negates_as_often_as_it_states(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    roof_network.write_traffic(str(path), 1000, 3)
    assert answer(path, 2.5) == -2.5


@pytest.mark.parametrize("kind", ["copy", "triad"])
def test_copies_and_triads_compute_what_they_are_called(kind: str) -> None:
    roof_memory.prepare(kind, 8 * 20_001, 2, 2)
    assert len(roof_memory.time_samples(3)) == 3
    cells = [cell.cell_contents for part in roof_memory._PREPARED["parts"]
             for cell in part.__closure__]  # fmt: skip
    arrays = [each for each in cells if isinstance(each, np.ndarray)]
    results = [array for array in arrays if array.shape == (10_000,)]
    expected = 1.0 if kind == "copy" else 4.0
    assert any((array == expected).all() for array in results)


def loads(monkeypatch: pytest.MonkeyPatch, rounds: str = "") -> None:
    """Loads around rounds: others use a processor in those that are ``b``, for busy."""
    clock = iter(number * 0.05 for number in range(1000))
    moments: list[Load] = []
    busy = 0.0
    for is_busy in [letter == "b" for letter in rounds.ljust(100, "c")]:
        stalled = 0 if not moments else moments[-1].stalled_us or 0
        moments.append(Load(1.0, stalled, Spent(busy, 0.0, 0.0, 2)))
        busy += 1.0 if is_busy else 0.0
        waited = stalled + (1_000_000 if is_busy else 0)
        moments.append(Load(1.0, waited, Spent(busy, 0.0, 0.0, 2)))
    reading = iter(moments)
    monkeypatch.setattr(roof_rounds, "read_load", lambda: next(reading))
    monkeypatch.setattr(roof_rounds.time, "monotonic", lambda: next(clock))


def sample(count: int) -> tuple[int, ...]:
    return (10_000_000,) * count


def test_calm_rounds_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch)
    rounds = measured_rounds(sample, FAR)
    assert len(rounds) == ROUNDS
    assert not any(each.is_disturbed for each in rounds)
    assert {len(each.samples_ns) for each in rounds} == {10}


def test_disturbed_rounds_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch, "bcb")
    rounds = measured_rounds(sample, FAR)
    assert [each.is_disturbed for each in rounds[:4]] == [True, False, True, False]
    assert len(rounds) == ROUNDS + 2


def test_a_machine_that_is_never_calm_is_measured_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads(monkeypatch, "b" * 50)
    rounds = measured_rounds(sample, FAR)
    assert len(rounds) == MOST_ROUNDS
    assert all(each.is_disturbed for each in rounds)


def test_one_round_is_measured_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    loads(monkeypatch)
    assert len(measured_rounds(sample, -1.0)) == 1


def test_roofs_are_measured_once_for_the_tools(
    hub: RegistryHub, settings_here: DeviceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []

    def measure(*arguments: Any) -> MeasuredRoofs:
        calls.append(arguments[2])
        return MeasuredRoofs([compute()], ["n" * 600])

    monkeypatch.setattr(roof, "measure_roofs", measure)
    for _ in range(2):
        keep_roofs(hub, settings_here, here())
    assert calls == [5.0]
    roofs = roofs_of_device(Device.objects.get())
    assert roofs is not None
    assert roofs.peak("float32")
    assert [len(note) for note in roofs.roof_set.notes] == [500]
    monkeypatch.setattr(roof, "tools_here", lambda _: {"onnxruntime": {"onnxruntime": "2"}})
    keep_roofs(hub, settings_here, here())
    assert len(calls) == 2


def test_nothing_is_measured_where_it_is_switched_off(
    hub: RegistryHub, settings_here: DeviceSettings
) -> None:
    hub.ticket.settings["roofs_s"] = 0.0
    keep_roofs(hub, settings_here, here())
    assert not RoofSet.objects.exists()


def test_refused_roofs_do_not_fail_the_job(
    hub: RegistryHub, settings_here: DeviceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = MeasuredRoofs([compute(size=0)])
    monkeypatch.setattr(roof, "measure_roofs", lambda *_: broken)
    keep_roofs(hub, settings_here, here())
    assert not RoofSet.objects.exists()
    assert JobEvent.objects.filter(message__contains="roofs of this machine were not").exists()


@pytest.mark.slow
def test_this_machine_has_roofs(settings_here: DeviceSettings) -> None:
    checks: list[None] = []
    measured = measure_roofs(settings_here, here(), 6.0, lambda: checks.append(None))
    levels = {each["level"]: each for each in measured.roofs if "level" in each}
    assert "memory" in levels
    assert levels["memory"]["bytes"] >= 64 * 2**20
    precisions = {each["precision"] for each in measured.roofs if "precision" in each}
    # What there was no time for is said.
    assert "float32" in precisions or "No time was left" in " ".join(measured.notes)
    assert len(checks) == len(measured.roofs)
    assert not list(settings_here.work.iterdir())


@pytest.mark.slow
def test_a_child_that_fails_is_a_note(
    settings_here: DeviceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise CandidateFailed("crash", "it ended")

    monkeypatch.setattr(roof, "Child", fail)
    measured = measure_roofs(settings_here, here(), -100.0)
    assert "Memory was not measured: it ended" in measured.notes
