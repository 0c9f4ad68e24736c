"""Which tensors of a build stand for which of the network, where the file itself does not say.

Lies beside the build's entry point as ``tensors.json``::

    {"inputs": [{"name", "dtype", "shape", "index", "order"}], "outputs": [...]}

``index`` is the tensor's place in the file; ``order`` lists the network's axes as the file has
them, such as ``[0, 2, 3, 1]`` for channels last, and is empty where they do not differ.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array, Tensor

NAME = "tensors.json"


@dataclass(frozen=True, slots=True)
class Mapped:
    """A tensor of the network and where the file has it."""

    tensor: Tensor
    index: int
    order: tuple[int, ...] = ()

    def to_file(self, array: Array) -> Array:
        """The network's array with axes as the file has them."""
        return np.ascontiguousarray(array.transpose(self.order)) if self.order else array

    def from_file(self, array: Array) -> Array:
        """The file's array with axes as the network has them."""
        if not self.order:
            return array
        back = np.argsort(self.order)
        return np.ascontiguousarray(array.transpose(back))


def write_tensors(folder: Path, inputs: tuple[Mapped, ...], outputs: tuple[Mapped, ...]) -> None:
    """Write the file into the folder of a build."""
    sides = {"inputs": inputs, "outputs": outputs}
    document = {
        side: [
            {**asdict(mapped.tensor), "index": mapped.index, "order": mapped.order}
            for mapped in each
        ]
        for side, each in sides.items()
    }
    (folder / NAME).write_text(json.dumps(document, indent=1) + "\n")


def read_tensors(folder: Path) -> tuple[tuple[Mapped, ...], tuple[Mapped, ...]] | None:
    """Inputs and outputs as written; ``None`` if there is no such file.

    Raises:
        RuntimeFailed: it is damaged.
    """
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_bytes())
        inputs, outputs = (tuple(map(_mapped, document[side])) for side in ("inputs", "outputs"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RuntimeFailed(f"{NAME} of this build is damaged: {error}") from error
    return inputs, outputs


def _mapped(entry: dict[str, Any]) -> Mapped:
    tensor = Tensor(str(entry["name"]), str(entry["dtype"]), tuple(entry["shape"]))
    return Mapped(tensor, int(entry["index"]), tuple(int(axis) for axis in entry["order"]))
