"""Builds the wheels and checks what is inside: ``python -m tests.architecture.packages``."""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Distribution folder to the top-level packages its wheel must carry, and files it must not miss.
EXPECTED: dict[str, tuple[set[str], set[str]]] = {
    ".": (
        {"hub", "registry", "workers"},
        {
            "hub/templates/base.html",
            "hub/nginx.conf",
            "hub/static/hub/hub.css",
            "hub/static/hub/build/chart.js",
            "hub/static/hub/build/graph.js",
            "hub/static/hub/build/LICENSES.txt",
            "hub/api/openapi.yaml",
            "registry/schemas/hpcfair.bench-1.json",
            "registry/migrations/0001_initial.py",
            "registry/migrations/0001_squashed_0038_principles.py",
            "workers/testing/backend_contract.py",
        },
    ),
    "client": (
        {"hpcfair"},
        {
            "hpcfair/py.typed",
            "hpcfair/runtimes/onnxruntime.py",
            "hpcfair-0.1.0.data/data/share/man/man1/hpcfair-load.1",
        },
    ),
    "workers": (
        {"workers"},
        {
            "workers/__init__.py",
            "workers/agent/cli.py",
            "workers/agent/deploy/hpcfair-agent.service",
            "hpcfair_agent-0.1.0.data/data/share/man/man1/hpcfair-agent-run.1",
        },
    ),
}
#: Folders of a wheel that are no packages.
_DATA = re.compile(r"^[^/]+\.(dist-info|data)/")
#: Path prefixes that a wheel must not contain, by distribution folder.
FOREIGN: dict[str, tuple[str, ...]] = {
    ".": ("workers/agent/", "workers/hatch_build.py", "workers/pyproject.toml"),
    "client": (),
    "workers": (
        *("workers/jobs/", "workers/testing/", "workers/app.py", "workers/tasks.py"),
        "workers/hatch_build.py",
    ),
}


def main() -> int:
    """Exit status 0 if the wheels contain exactly the expected files."""
    wrong = []
    for folder, (packages, files) in EXPECTED.items():
        names = _wheel_names(ROOT / folder)
        top = {name.split("/")[0] for name in names if not _DATA.search(name)}
        wrong += [f"{folder}: carries {name}" for name in sorted(top - packages)]
        wrong += [
            f"{folder}: carries {name}"
            for name in sorted(names)
            if name.startswith(FOREIGN[folder])
        ]
        wrong += [f"{folder}: misses {name}" for name in sorted((packages - top) | (files - names))]
    sys.stdout.write("\n".join(wrong) + "\n" if wrong else "wheels carry what they should\n")
    return 1 if wrong else 0


def _wheel_names(folder: Path) -> set[str]:
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (wheel,) = Path(out).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return set(archive.namelist())


if __name__ == "__main__":
    sys.exit(main())
