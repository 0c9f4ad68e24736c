"""A device that only runs builds: this process does its jobs and builds for it."""

import json
from pathlib import Path

import pytest

from hpcfair.healthcheck import answer, health_check
from tests.programs import needs
from tests.workers.engine.test_split import counted
from workers.backends.registry import available
from workers.device import toolchain
from workers.device.health import solve
from workers.device.ports import DeviceSettings
from workers.device.toolchain import backends_of, other_machine, tools_here, versions_of
from workers.fleet import runner
from workers.fleet.probe import machine_for, served_machine, this_machine

pytestmark = pytest.mark.slow


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This machine as its own runner; returns a file with a line for each child there."""
    interpreter = counted(tmp_path / "log")
    described = {"command": interpreter.command, "path": list(map(str, interpreter.path))}
    file = tmp_path / "runner.json"
    file.write_text(json.dumps(described))
    monkeypatch.setenv(runner.VARIABLE, str(file))
    monkeypatch.setattr(toolchain, "_ANSWERS", {})
    return tmp_path / "log"


def test_its_facts_are_those_that_its_runner_states(log: Path) -> None:
    here = served_machine()
    assert log.read_text()
    assert here.runner == runner.runner_here()
    own = this_machine()
    assert own.runner is None
    assert (here.spec.slug, here.spec.features) == (own.spec.slug, own.spec.features)
    assert here.spec.facts["processor"] == own.spec.facts["processor"]
    again = machine_for(here.definition, here.device, here.runner)
    assert (again.spec.slug, again.runner) == (here.spec.slug, here.runner)


def test_without_a_runner_a_process_does_the_jobs_of_its_machine() -> None:
    here = served_machine()
    assert (here.spec.slug, here.runner) == (this_machine().spec.slug, None)
    assert other_machine(here) is None


@needs("tvm")
@needs("cc")
def test_programs_are_those_of_the_runner_and_compilers_those_of_this_machine(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = served_machine()
    assert tools_here(here).keys() == available(here.spec)[0].keys()
    starts = log.read_text().count("start")
    assert "runtime" in tools_here(here)["tvm"]
    # The runner is asked once.
    assert log.read_text().count("start") == starts
    (answered,) = toolchain._ANSWERS.values()
    answered["packages"] = {"onnxruntime": {"onnxruntime": "0.1"}}
    backends, missing = backends_of(here)
    assert backends.keys() == {"onnxruntime", "tvm"}
    assert "not installed on the machine that runs" in missing["openvino"]
    assert versions_of(here, backends["onnxruntime"]) == {"onnxruntime": "0.1"}
    assert versions_of(here, backends["tvm"]) == backends["tvm"].probe(here.spec)


def test_it_computes_there(log: Path, tmp_path: Path) -> None:
    here = served_machine()
    before = log.read_text().count("start")
    outputs, failures = solve(DeviceSettings(tmp_path / "work", 4 * 2**30), here, 17)
    assert failures == []
    assert outputs["onnxruntime"] == answer(health_check(17))
    assert log.read_text().count("start") > before


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"command": []}', '{"command": [], "path": []}', '{"command": [1], "path": []}'],
)
def test_a_description_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    file = tmp_path / "runner.json"
    file.write_text(content)
    monkeypatch.setenv(runner.VARIABLE, str(file))
    with pytest.raises(ValueError, match=runner.VARIABLE):
        served_machine()
