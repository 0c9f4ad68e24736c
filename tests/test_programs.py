"""Tests that need what a machine lacks are skipped with a reason; on CI they must not be."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import skips
from tests.programs import REQUIREMENTS, missing

ROOT = Path(__file__).parents[1]
#: Programs that README.md asks for, with those that gcc starts, and programs of every system.
_PREREQUISITES = ("git", "make", "gcc", "as", "ld")
_SYSTEM = ("bash", "cat", "cp", "echo", "env", "ln", "mkdir", "mv", "rm", "sh", "sleep", "uname")
_OPTIONAL = ("c++", "chromium", "curl", "jq", "git-lfs", "openssl", "nvcc")
#: How a test would decide by itself whether it is skipped.
_OWN_SKIP = re.compile(r"importorskip|mark\.skip")


def pytest_on(
    path: Path, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """What pytest does where only the programs in the folder ``path`` are installed."""
    removed = {"CC", "CXX", "HPCFAIR_REQUIRED_PROGRAMS", "HPCFAIR_SKIPS"}
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in removed and not name.startswith("PYTEST_")
    }
    nowhere = str(path / "nothing")
    programs = {"PATH": str(path), "HPCFAIR_CHROMIUM": nowhere}
    # At its start pytest closes the temporary folder that all runs of a user share to other users,
    # such as the one that PostgreSQL runs as where the suite runs as root.
    options = ["-q", "-p", "no:cacheprovider", f"--basetemp={path / 'temporary'}"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=ROOT,
        env=inherited | programs | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def marked(*names: str) -> str:
    """Selects the tests that need one of ``names``."""
    return " or ".join(f"needs(program={name!r})" for name in names)


def paths_with_optional_tests(session: pytest.Session) -> list[str]:
    """Files of this run with tests for a browser or one of :data:`_OPTIONAL`; all folders of tests
    if the run has none for some of these.

    Importing all tests takes many processor seconds, and the whole suite has done so already.
    """
    names: set[str] = set()
    paths: set[str] = set()
    for item in session.items:
        named = {mark.kwargs["program"] for mark in item.iter_markers("needs")}
        named &= {*_OPTIONAL}
        if named or item.get_closest_marker("browser"):
            names |= named
            paths.add(str(item.path))
    return sorted(paths) if names == {*_OPTIONAL} else ["tests", "client/tests"]


def fill(folder: Path, *names: str) -> Path:
    """A folder with these programs of this machine, and nothing else."""
    for name in names:
        (folder / name).symlink_to(shutil.which(name) or pytest.fail(f"no {name} here"))
    return folder


@pytest.mark.slow
def test_a_machine_with_what_the_readme_asks_for_skips_the_rest(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = fill(tmp_path, *_PREREQUISITES, *_SYSTEM)
    selected = f"browser or {marked(*_OPTIONAL)}"
    done = pytest_on(path, "-m", selected, *paths_with_optional_tests(request.session))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in _OPTIONAL:
        assert re.search(rf"Skipped: \d+ — {re.escape(REQUIREMENTS[name].reason)}", done.stdout)
    assert re.search(r"^\d+ skipped, \d+ deselected", done.stdout.splitlines()[-1]), done.stdout


@pytest.mark.slow
def test_without_a_compiler_and_git_the_rest_of_a_file_runs(tmp_path: Path) -> None:
    files = ["workers/engine/test_sandbox_programs.py", "registry/validation/test_names.py"]
    done = pytest_on(fill(tmp_path, *_SYSTEM), *(f"tests/{file}" for file in files))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("cc", "git"):
        assert f"Skipped: 1 — {REQUIREMENTS[name].reason}\n" in done.stdout


@pytest.mark.slow
def test_a_required_program_that_is_missing_ends_the_run(tmp_path: Path) -> None:
    arguments = ("--collect-only", "tests/test_programs.py")
    done = pytest_on(tmp_path, *arguments, HPCFAIR_REQUIRED_PROGRAMS="torch openssl git-lfs")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    lines = done.stderr.splitlines()
    assert lines[1:3] == [REQUIREMENTS[name].reason for name in ("openssl", "git-lfs")]
    assert "apt-get install openssl" in lines[1]


def test_a_required_program_that_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HPCFAIR_REQUIRED_PROGRAMS", "git apache")
    with pytest.raises(pytest.UsageError, match="unknown names: apache"):
        missing()


def test_reasons_of_several_runs_are_one_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HPCFAIR_SKIPS", str(tmp_path / "skips"))
    reports = [SimpleNamespace(nodeid=test, longrepr=("f", 1, "Skipped: no")) for test in "abc"]
    for run in (reports[:2], [], reports[1:]):
        skips.report_skips(cast("Any", SimpleNamespace(stats={"skipped": run})))
    command = [sys.executable, "-m", "tests.skips", str(tmp_path / "skips")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "Skipped: 3 — no\n"


def test_what_can_be_installed_is_listed_first() -> None:
    gpu, openssl = (REQUIREMENTS[name].reason for name in ("gpu", "openssl"))
    lines = skips.lines_of({("a", gpu), ("b", gpu), ("c", openssl)})
    assert lines == [f"Skipped: 1 — {openssl}", f"Skipped: 2 — {gpu}"]


def test_conditions_for_skipping_stand_in_one_place() -> None:
    files = [path for path in (ROOT / "tests").rglob("*.py") if _OWN_SKIP.search(path.read_text())]
    assert {path.name for path in files} == {"programs.py", "test_programs.py"}
