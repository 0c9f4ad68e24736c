"""Texts with which a site offers a model bundle to its users: a module file and a container.

Sources: Lmod, "Writing module files" and "Functions for modulefiles"; Apptainer user guide,
"Definition files".
"""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hpcfair.formats import ONNX_RUNTIME
from hpcfair.modelbundle.writer import BundleSummary
from hpcfair.runtimes import registry

#: Where the bundle is in a container.
_PLACE = "/opt/model"


def module_file(summary: BundleSummary) -> str:
    """A module file for Lmod. It states where the bundle is, and that there is no hub."""
    path = summary.path.absolute()
    builds = ", ".join(sorted({build.target for build in summary.builds})) or "none"
    what = f"{summary.name} at revision {summary.revision[:12]}"
    return f"""\
-- -*- lua -*-
whatis({_lua("Name: " + summary.name)})
whatis({_lua("Version: " + summary.revision[:12])})
whatis({_lua("Description: a model with builds for: " + builds)})
help({_lua(what + ". In Python: hpcfair.load(os.environ['HPCFAIR_BUNDLE'])")})
family("hpcfair_model")
setenv("HPCFAIR_BUNDLE", {_lua(str(path))})
setenv("HPCFAIR_OFFLINE", "1")
"""


def apptainer_definition(summary: BundleSummary) -> str:
    """A definition file for Apptainer: a container that runs the bundle."""
    path, place = summary.path.absolute(), f"{_PLACE}{summary.path.suffix}"
    entries = registry.entries()
    names = {build.runtime for build in summary.builds} - {ONNX_RUNTIME.runtime}
    requirements = sorted(entries[name].requirement for name in names if name in entries)
    packages = " ".join(f"'{each}'" for each in ("hpcfair[run]" + _release(), *requirements))
    return f"""\
Bootstrap: docker
From: python:3.12-slim

%labels
    org.opencontainers.image.title {summary.name}
    org.opencontainers.image.revision {summary.revision}

%files
    {path} {place}

%post
    pip install --no-cache-dir {packages}

%environment
    export HPCFAIR_BUNDLE={place}
    export HPCFAIR_OFFLINE=1
    export HPCFAIR_CACHE="${{HPCFAIR_CACHE:-/tmp/hpcfair-$(id -u)}}"

%runscript
    exec hpcfair run {place} "$@"

%test
    hpcfair reproduce {place}

%help
    {summary.name} at revision {summary.revision[:12]}.
    apptainer run IMAGE input.npy -o output.npz
"""


def _release() -> str:
    try:
        return f"=={version('hpcfair')}"
    except PackageNotFoundError:  # run from a source tree that is not installed
        return ""


def _lua(text: str) -> str:
    """A string of Lua."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
    return f'"{escaped}"'


def write_text(path: Path, text: str) -> None:
    """Write a text, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
