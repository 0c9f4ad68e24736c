"""A machine that computes correctly passes its health check; one that does not fails it."""

from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.healthcheck import answer, health_check
from workers.device import health
from workers.device.health import machine_checks, solve
from workers.device.ports import DeviceSettings
from workers.engine.errors import CandidateFailed
from workers.engine.local import LocalDevice
from workers.fleet.probe import this_machine

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(tmp_path: Path) -> DeviceSettings:
    return DeviceSettings(tmp_path / "work", 4 * 2**30)


def test_every_backend_computes_what_the_hub_expects(settings: DeviceSettings) -> None:
    outputs, failures = solve(settings, this_machine(), 17)
    assert failures == []
    assert "onnxruntime" in outputs
    expected = answer(health_check(17))
    assert outputs == dict.fromkeys(outputs, expected)
    assert not list(settings.work.iterdir())


def test_a_healthy_machine_passes_all_checks(settings: DeviceSettings) -> None:
    checks = {check.name: check for check in machine_checks(settings, this_machine())}
    assert {"disk", "confinement", "onnxruntime", "backends"} <= checks.keys()
    assert [check for check in checks.values() if not check.is_ok] == []


def test_wrong_outputs_are_detected(
    settings: DeviceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "answer", lambda _: [0] * 8)
    failed = [check.name for check in machine_checks(settings, this_machine()) if not check.is_ok]
    assert "onnxruntime" in failed


def test_a_backend_that_fails_is_named(
    settings: DeviceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*_: object) -> None:
        raise CandidateFailed("crash", "it ended")

    monkeypatch.setattr(LocalDevice, "build", build)
    outputs, failures = solve(settings, this_machine(), 17)
    assert outputs == {}
    assert "onnxruntime cannot compute the health check: it ended" in failures


def test_too_little_confinement_is_reported(
    settings: DeviceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "solve", lambda *_: ({}, []))
    monkeypatch.setattr(health, "LEVELS", (*health.LEVELS, "perfect"))
    strict = replace(settings, isolation="perfect")
    failed = [check.name for check in machine_checks(strict, this_machine()) if not check.is_ok]
    assert "confinement" in failed
