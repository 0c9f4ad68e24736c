"""The wheel of the agent works in an environment without the hub."""

import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

from tests.thirdparty.environments import build_wheel, link_requirements, make_environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
#: Imports every module, but those of compilers that are not installed there.
IMPORT = """
import importlib, json, pkgutil, sys, workers
missing = set()
for module in pkgutil.walk_packages(workers.__path__, "workers.", onerror=lambda _: None):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        missing.add(error.name.partition(".")[0])
print(json.dumps({
    "packages": sorted(each.name for each in pkgutil.iter_modules(workers.__path__)),
    "missing": sorted(missing),
    "server": sorted({"celery", "django", "hub", "registry"} & set(sys.modules)),
    "file": workers.__file__,
}))
"""
#: Packages of the extras.
OPTIONAL = {
    *("ai_edge_litert", "ai_edge_quantizer", "litert_torch", "nncf", "onnxruntime"),
    *("openvino", "tensorrt", "torch", "tvm", "tvm_ffi"),
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the agent and what it requires, without extras."""
    folder = tmp_path_factory.mktemp("agent")
    wheels = [build_wheel(ROOT / name, folder) for name in ("client", "workers")]
    made = make_environment(folder / "environment", *wheels)
    link_requirements(made)
    return made


def run(python: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python.parent / command[0]), *command[1:]],
        env={"PATH": os.environ["PATH"], "HOME": str(python.parent), **more},
        cwd=python.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_it_imports_without_the_server(python: Path) -> None:
    done = run(python, "python", "-c", IMPORT)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    expected = ["agent", "backends", "device", "engine", "fleet", "inspection"]
    assert document["packages"] == expected
    assert set(document["missing"]) <= OPTIONAL
    assert document["server"] == []
    assert Path(document["file"]).is_relative_to(python.parents[1])


def test_it_installs_the_command(python: Path) -> None:
    version = run(python, "hpcfair-agent", "--version")
    assert version.returncode == 0, version.stderr
    assert version.stdout.startswith("0.1.0 python/3.")
    status = run(python, "hpcfair-agent", "--state", "nowhere", "status")
    assert status.returncode == 2
    assert "hpcfair-agent join" in status.stderr


def test_it_runs_the_runtimes_of_the_machine(python: Path) -> None:
    # Confined children follow no links out of the environment.
    packages = str(Path(numpy.__file__).parents[1])
    state = ("--state", "state")
    checks = run(python, "hpcfair-agent", *state, "health", "--json", PYTHONPATH=packages)
    assert checks.returncode == 0, f"{checks.stdout}{checks.stderr}"
    assert "onnxruntime" in {check["name"] for check in json.loads(checks.stdout)}


def test_it_reports_errors(python: Path) -> None:
    checks = run(python, "hpcfair-agent", "--state", "state", "health", "--json")
    assert checks.returncode == 1
    failed = [check["name"] for check in json.loads(checks.stdout) if not check["ok"]]
    assert failed == ["confinement"]


def test_its_records_name_it(python: Path) -> None:
    code = "from workers.device.software import own_versions; print(*own_versions())"
    assert run(python, "python", "-c", code).stdout.split() == ["hpcfair-agent"]


def test_it_contains_the_files_for_services(python: Path) -> None:
    (site,) = python.parents[1].glob("lib/python*/site-packages")
    names = {path.name for path in (site / "workers" / "agent" / "deploy").iterdir()}
    assert names == {"hpcfair-agent.service", "hpcfair-agent.sbatch"}
