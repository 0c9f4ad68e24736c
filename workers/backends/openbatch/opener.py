"""Opens the batch of a network and proves that it computes the same. Runs in a child process."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.backends.normalform.annotations import clear_annotations
from workers.backends.onnxruntime.files import refuse_large
from workers.backends.openbatch.graph import BatchRewriter
from workers.engine.child_work import network_from
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.random_inputs import random_inputs
from workers.engine.samples import evaluation_samples
from workers.engine.testset import make_test_set
from workers.engine.types import Network

#: Rows that both networks are compared on, and multiply-accumulates of one above which the fewer
#: must do.
_ROWS, _FEW_ROWS, _MOST_MACS = 16, 4, 1_000_000_000
_SEED = 0
_SYMBOL = "batch"

_Row = Mapping[str, Array]


def open_batch(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    """Write the network with an open batch into the empty folder ``out``.

    Returns ``path``, relative to ``out``; ``symbol``, the name of the open dimension; and
    ``changes`` by operator. Raises InvalidCandidate, with the reason, if the network has no such
    form, or it gives other outputs than the published file, row by row.
    """
    subject = network_from(network)
    refuse_large(subject.source_path)
    model = onnx.load(subject.source_path)
    clear_annotations(model)
    rewriter = BatchRewriter(model)
    opened = rewriter.model({spec.name for spec in subject.inputs}, _SYMBOL)
    path = Path(out) / subject.model_path.name
    onnx.save(opened, path)
    require_equal(subject, path)
    return {"path": path.name, "symbol": _SYMBOL, "changes": rewriter.changes}


def require_equal(network: Network, path: Path) -> None:
    """Compare a file that takes any number of rows with the published one, in float32 without
    optimisations, within the limits of the class ``exact``.

    Each row of the test set must have the same outputs alone, first and last in a batch, and beside
    other rows. Raises InvalidCandidate.
    """
    rows = list(_rows(network))
    if not _differ(rows):
        raise InvalidCandidate("there are no two different rows to compare on")
    try:
        published, opened = _session(network.model_path), _session(path)
        expected = [_run(published, [row]) for row in rows]
        comparison = OutputComparison()
        for order in _batches(len(rows)):
            outputs = _run(opened, [rows[at] for at in order])
            comparison.add(_joined([expected[at] for at in order]), outputs)
    except OutputMismatch as error:
        raise InvalidCandidate(f"in batches: {error}") from error
    # ONNX Runtime's exceptions share no base below Exception.
    except Exception as error:
        raise InvalidCandidate(f"it does not run in batches: {error}") from error
    if (excess := violation("exact", comparison.deviation())) is not None:
        raise InvalidCandidate(f"in batches: {excess}")


def _rows(network: Network) -> Iterator[_Row]:
    """Rows of the test set, then random ones."""
    tests = make_test_set(network, evaluation_samples(network, _ROWS), _SEED)
    is_cheap = network.macs is None or network.macs <= _MOST_MACS
    most = _ROWS if is_cheap else _FEW_ROWS
    yield from islice(tests.cases, most - 1)
    for number in range(max(1, most - len(tests.cases))):
        yield random_inputs(network, _SEED + 1 + number)


def _batches(count: int) -> list[list[int]]:
    """Numbers of rows: all, all backwards in two unequal batches, one alone."""
    backwards = list(reversed(range(count)))
    third = max(1, count // 3)
    return [list(range(count)), backwards[:third], backwards[third:], [0]]


def _differ(rows: Sequence[_Row]) -> bool:
    first, *others = rows
    return any(
        not np.array_equal(array, other[name]) for other in others for name, array in first.items()
    )


def _run(session: ort.InferenceSession, rows: Sequence[_Row]) -> dict[str, Array]:
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, _joined(rows)), strict=True))


def _joined(rows: Sequence[_Row]) -> dict[str, Array]:
    return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def _session(path: Path) -> ort.InferenceSession:
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    return ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
