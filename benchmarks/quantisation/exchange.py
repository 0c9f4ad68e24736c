"""What a tool's script gets and says: a published network, calibration inputs, a folder to fill."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Inputs = dict[str, Array]
_LABELS = "labels"


@dataclass(frozen=True, slots=True)
class Request:
    """What a script is asked to build.

    Attributes:
        model: The published ONNX file.
        runs: Calibration inputs by tensor name, one mapping per run.
        labels: ``int64[n]`` over the rows of all runs in order; ``None`` without labels.
        is_transformer: Whether the network is one, which some tools want to be told.
        out: Existing empty folder.
    """

    model: Path
    runs: list[Inputs]
    labels: Array | None
    is_transformer: bool
    out: Path


#: Writes a build and returns the file that its runtime opens.
Way = Callable[[Request], Path]


def write_inputs(path: Path, runs: list[Inputs], labels: Array | None) -> None:
    """Write calibration inputs for :func:`answer`; arguments as of :class:`Request`."""
    arrays = {f"{number}/{name}": a for number, run in enumerate(runs) for name, a in run.items()}
    if labels is not None:
        arrays[_LABELS] = labels
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_inputs(path: Path) -> tuple[list[Inputs], Array | None]:
    """The runs and labels in a file of :func:`write_inputs`."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    labels = arrays.pop(_LABELS, None)
    runs: dict[int, Inputs] = {}
    for key, array in arrays.items():
        number, _, name = key.partition("/")
        runs.setdefault(int(number), {})[name] = array
    return [runs[number] for number in sorted(runs)], labels


def answer(ways: Mapping[str, Way], *packages: str) -> None:
    """Build what the arguments of this process ask for. The last line of stdout is the entry point
    and the versions of ``packages`` as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=sorted(ways))
    parser.add_argument("model", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--transformer", action="store_true")
    options = parser.parse_args()
    runs, labels = read_inputs(options.inputs)
    request = Request(options.model, runs, labels, options.transformer, options.out)
    path = ways[options.way](request)
    versions = {name: version(name) for name in packages}
    document = {"entry_point": str(path.relative_to(options.out)), "versions": versions}
    sys.stdout.write(f"\n{json.dumps(document)}\n")
