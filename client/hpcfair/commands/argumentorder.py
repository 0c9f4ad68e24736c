"""Refuses swapped arguments, where it is certain that they are swapped."""

import shlex
from pathlib import Path

from hpcfair.errors import BadInput
from hpcfair.modelbundle.source import is_bundle
from hpcfair.origin import is_origin
from hpcfair.paths import is_name


def require_path(command: str, path: Path, name: str) -> None:
    """Refuse a model's name in place of a path if the path is in place of the name.

    What has the form of a name may be a path, too, so that only other paths are certain. Raises
    BadInput with the right order.
    """
    is_swapped = is_name(str(path)) and not path.exists()
    if is_swapped and not is_name(name) and not is_bundle(name) and Path(name).exists():
        kind = "folder" if Path(name).is_dir() else "file"
        right = (name, str(path)) if command == "push" else (str(path), name)
        raise _swapped(f"{name} is a {kind}, where the name of a model belongs.", command, *right)


def require_origin(command: str, origin: str, name: str | None) -> None:
    """Refuse a model's name in place of an origin if the origin is in place of the name. Raises
    BadInput with the right order."""
    if name is not None and is_name(origin) and (is_origin(name) or is_bundle(name)):
        raise _swapped(f"{name} is what is imported, and comes first.", command, name, origin)


def _swapped(detail: str, command: str, *right: str) -> BadInput:
    return BadInput(detail, f"Write: hpcfair {command} {shlex.join(right)}")
