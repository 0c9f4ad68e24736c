"""Files of the same network that backends take as they are: those that fit it and harm nobody."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workers.engine.forms import Misfit, bind
from workers.engine.types import TensorSpec
from workers.inspection.errors import printable
from workers.inspection.interface import Interface, Unusable
from workers.inspection.pt2 import read_pt2
from workers.inspection.tflite import read_tflite

#: Most files of each kind that anybody tries.
MAX_FORMS = 8
#: Suffix to format, reader, and whether it takes sizes besides those it states.
_KINDS: dict[str, tuple[str, Callable[[Path], Interface], bool]] = {
    ".pt2": ("torch-export", read_pt2, False),
    ".tflite": ("tflite", read_tflite, True),
}


def read_forms(
    folder: Path, primary: str, signature: dict[str, Any], warnings: list[str]
) -> list[dict[str, str]]:
    """``{"format", "path"}`` of each file that can be used in place of the primary one, or is it.

    Why another cannot goes to ``warnings``: the revision is as good without it.
    """
    found = []
    graph = [_specs(signature[side]) for side in ("inputs", "outputs")]
    for suffix, (form, read, resizable) in _KINDS.items():
        paths = find(folder, suffix)
        warnings += [f"{shown} was not read." for shown in paths[MAX_FORMS:]]
        for shown in paths[:MAX_FORMS]:
            try:
                interface = read(folder / shown)
                bind(interface.inputs, graph[0], resizable=resizable)
                bind(interface.outputs, graph[1], resizable=resizable)
            except Unusable as error:
                warnings.append(f"{shown} is not used: {printable(str(error))}.")
            except Misfit as error:
                warnings.append(f"{shown} does not fit {primary}: {printable(str(error))}.")
            else:
                found.append({"format": form, "path": shown})
    return found


def find(folder: Path, suffix: str) -> list[str]:
    """Paths of files under ``folder`` with a suffix, sorted; no link is followed or listed."""
    found = []
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(root, name)
            if name.endswith(suffix) and path.is_file() and not path.is_symlink():
                found.append(path.relative_to(folder).as_posix())
    return sorted(found)


def _specs(tensors: list[dict[str, Any]]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(t["name"], t["dtype"], tuple(t["shape"])) for t in tensors)
