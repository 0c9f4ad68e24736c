"""The environment that a live object was exported in, and the script that did it."""

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from hpcfair.exporters.base import Files

#: A name that no author uses for a list of their own, but by which the hub knows what it is.
NAME = "requirements-export.txt"
_TIMEOUT_S = 5.0


def add_environment(files: Files, scratch: Path) -> Files:
    """``files`` with the versions of all packages that this program has imported.

    Packages that were installed from a folder or an address are left out: nobody else can install
    them by name.
    """
    local = scratch / NAME
    lines = [f"# Python {platform.python_version()}, {platform.machine()}", *_requirements()]
    local.write_text("\n".join(lines) + "\n", "utf-8")
    return {**files, NAME: local}


def script_origin() -> str:
    """Path, commit and repository of the running script, as a line of a commit message.

    ``Script: train.py at 3f2a... of github.com/lab/galaxies``; empty if the program is no script
    in a git repository.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if not script:
        return ""
    folder, name = Path(script).resolve().parent, Path(script).name
    commit = _git(folder, "rev-parse", "HEAD")
    path = _git(folder, "ls-files", "--full-name", "--", name)
    # A script that the repository does not contain says nothing about where it comes from.
    if not commit or not path:
        return ""
    changed = " with changes" if _git(folder, "status", "--porcelain", "--", name) else ""
    origin = _address(_git(folder, "remote", "get-url", "origin"))
    return f"Script: {path} at {commit}{changed}{f' of {origin}' if origin else ''}"


def _requirements() -> list[str]:
    owners = metadata.packages_distributions()
    imported = {module.partition(".")[0] for module in sys.modules}
    names = {name for module in imported for name in owners.get(module, ())}
    distributions = (metadata.distribution(name) for name in names)
    return sorted(
        (
            f"{each.name}=={each.version}"
            for each in distributions
            if not each.read_text("direct_url.json")
        ),
        key=str.lower,
    )


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _address(remote: str) -> str:
    """Host and path of a remote, without names and passwords; empty for a folder."""
    if "://" not in remote:
        host, colon, path = remote.partition(":")
        is_address = colon and "/" not in host
        return f"{host.rpartition('@')[2]}/{path.removesuffix('.git')}" if is_address else ""
    parts = urlsplit(remote)
    return f"{parts.hostname}{parts.path.removesuffix('.git')}" if parts.hostname else ""
