"""The file ``tensors.json``: which tensors of an artefact are which of the network.

Artefacts whose own format does not say it have the file beside their entry point::

    {"inputs": [{"name", "dtype", "shape", "index", "order"}], "outputs": [...]}

``index`` is the tensor's position among the artefact's inputs or outputs. ``order`` lists the
network's axes in the artefact's order, such as ``[0, 2, 3, 1]`` for channels last; it is empty
where the orders are equal.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, TensorInfo

NAME = "tensors.json"


@dataclass(frozen=True, slots=True)
class MappedTensor:
    """A tensor of the network with its position and axis order in the artefact."""

    tensor: TensorInfo
    index: int
    order: tuple[int, ...] = ()

    def to_file(self, array: Array) -> Array:
        """Permute the axes of the network's array into the artefact's order."""
        return np.ascontiguousarray(array.transpose(self.order)) if self.order else array

    def from_file(self, array: Array) -> Array:
        """Permute the axes of the artefact's array into the network's order."""
        if not self.order:
            return array
        return np.ascontiguousarray(array.transpose(np.argsort(self.order)))


def write_tensors(
    folder: Path, inputs: tuple[MappedTensor, ...], outputs: tuple[MappedTensor, ...]
) -> None:
    """Write the file into the folder of an artefact."""
    document = {
        side: [
            {**asdict(mapped.tensor), "index": mapped.index, "order": mapped.order}
            for mapped in tensors
        ]
        for side, tensors in (("inputs", inputs), ("outputs", outputs))
    }
    (folder / NAME).write_text(json.dumps(document, indent=1) + "\n")


def read_tensors(folder: Path) -> tuple[tuple[MappedTensor, ...], tuple[MappedTensor, ...]] | None:
    """Inputs and outputs; ``None`` without such a file. Raises RuntimeFailed for a damaged one."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_bytes())
        inputs, outputs = (tuple(map(_mapped, document[side])) for side in ("inputs", "outputs"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RuntimeFailed(f"{NAME} of this build is damaged: {error}") from error
    return inputs, outputs


def _mapped(entry: dict[str, Any]) -> MappedTensor:
    tensor = TensorInfo(str(entry["name"]), str(entry["dtype"]), tuple(entry["shape"]))
    return MappedTensor(tensor, int(entry["index"]), tuple(int(axis) for axis in entry["order"]))
