"""Virtual environments with a wheel of somebody else's, made without a package index."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def build_wheel(project: Path, folder: Path) -> Path:
    """Build a project's wheel below ``folder``."""
    folder /= f"{project.name}-wheel"
    command = ["build", "--wheel", "--no-isolation", "--outdir", str(folder), str(project)]
    _run(sys.executable, "-m", *command)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, *wheels: Path) -> Path:
    """Make an empty environment and install wheels without their requirements.

    Returns:
        Its interpreter.
    """
    _run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    python = folder / "bin/python"
    install = ("pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python))
    _run(sys.executable, "-m", "uv", *install, *map(str, wheels))
    return python


def install_into(folder: Path, *wheels: Path) -> None:
    """Install wheels without their requirements, compiled, into a folder for ``PYTHONPATH``."""
    install = ("pip", "install", "--quiet", "--offline", "--no-deps", "--compile-bytecode")
    places = ("--python", sys.executable, "--target", str(folder))
    _run(sys.executable, "-m", "uv", *install, *places, *map(str, wheels))


def see_everything(python: Path) -> None:
    """Let an environment import all that this process can import."""
    paths = [str(Path(entry).resolve()) for entry in sys.path if entry]
    (_site_packages(python) / "parent.pth").write_text("\n".join(paths) + "\n")


def link_requirements(python: Path) -> None:
    """Link what an environment's distributions require, without extras, from this environment."""
    site = _site_packages(python)
    waiting = list(metadata.distributions(path=[str(site)]))
    names = {canonicalize_name(distribution.name) for distribution in waiting}
    while waiting:
        for text in waiting.pop().requires or ():
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and name not in names:
                names.add(name)
                waiting.append(metadata.distribution(name))
                _link(waiting[-1], site)


def _link(distribution: metadata.Distribution, site: Path) -> None:
    tops = {file.parts[0] for file in distribution.files or ()}
    for top in tops - {"..", "__pycache__"}:
        (site / top).symlink_to(str(distribution.locate_file(top)))


def _site_packages(python: Path) -> Path:
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    return site


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
