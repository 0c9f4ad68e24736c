"""The network of any number of rows behind one that its exporter fixed at one row.

An opener, which runs in a child process, writes it and proves that it gives the same outputs row by
row. Builds for many samples are then made from it, beside those of the published network.
"""

from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from hpcfair.isolation.limits import Limits
from workers.engine.child import Child
from workers.engine.handover import check_files, protocol_error
from workers.engine.types import Network, TensorSpec, canonical_json

#: Option of candidates that are built from the network with an open batch.
OPEN_BATCH: Final = "open_batch"

_LONGEST_DESCRIPTION = 2**12


def has_one_row(network: Network) -> bool:
    """Whether all inputs and outputs have exactly one row."""
    return all(spec.shape[:1] == (1,) for spec in (*network.inputs, *network.outputs))


def open_batch(opener: str, network: Network, child: Child, out: Path, limits: Limits) -> Network:
    """The network with an open batch, made by ``opener`` in a child that may write to the empty
    folder ``out``.

    ``opener`` takes ``network`` and ``out`` as keywords, and returns the ``path`` of the file
    relative to ``out`` and the ``symbol`` of the open dimension. Raises CandidateFailed if there is
    no such network, with the reason, or the description is invalid.
    """
    described = child.call(opener, network=network, out=out)
    check_files(out, limits)
    try:
        if len(canonical_json(described)) > _LONGEST_DESCRIPTION:
            raise protocol_error("the description is too long")
        path, symbol = _path(described["path"], out), str(described["symbol"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise protocol_error(error) from error

    def opened(specs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        return tuple(replace(spec, shape=(symbol, *spec.shape[1:])) for spec in specs)

    return replace(
        network,
        model_path=path,
        inputs=opened(network.inputs),
        outputs=opened(network.outputs),
        normal_path=None,
        # They fix the batch as well.
        alternatives=(),
    )


def _path(described: Any, out: Path) -> Path:
    name = PurePosixPath(described)
    path = out / name
    if ".." in name.parts or name.is_absolute() or not path.is_file():
        raise protocol_error("a file outside of its folder")
    return path
