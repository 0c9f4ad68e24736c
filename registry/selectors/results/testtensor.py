"""Reads of test tensors: inputs of a network and the expected outputs."""

from collections.abc import Iterable

from django.db.models import QuerySet

from hpcfair.tickets import FileTicket, TensorTicket, parse_test_path
from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.results.graph import graph_of
from registry.tables import Graph, Job, Revision, TestTensor


def tests_of(graph: Graph) -> QuerySet[TestTensor]:
    """The test tensors of a network with their blobs: by set, inputs before outputs, by index."""
    rows = TestTensor.objects.filter(graph=graph).select_related("blob")
    # Alphabetically, "input" comes before "output".
    return rows.order_by("number", "side", "index")


def test_sets(revision: Revision) -> dict[int, list[TestTensor]]:
    """Number of each test set to its tensors, in the order of :func:`tests_of`; may be empty."""
    graph = graph_of(revision)
    return by_set(tests_of(graph)) if graph else {}


def by_set(rows: Iterable[TestTensor]) -> dict[int, list[TestTensor]]:
    """Number of each test set to its tensors.

    ``rows`` are of one network, in the order of :func:`tests_of`.
    """
    sets: dict[int, list[TestTensor]] = {}
    for row in rows:
        sets.setdefault(row.number, []).append(row)
    return sets


def test_path(row: TestTensor) -> str:
    """Path below ``/<namespace>/<name>/tests/<commit id>/``, as the ONNX format names it; the
    inverse of :func:`hpcfair.tickets.parse_test_path`."""
    return f"test_data_set_{row.number}/{row.side}_{row.index}.pb"


def tensor_get(revision: Revision, path: str) -> TestTensor:
    """The test tensor at a path; see :func:`test_path`. Raises ``NotFound``: ``file_not_found``."""
    graph, position = graph_of(revision), parse_test_path(path)
    row = None
    if graph is not None and position is not None:
        number, side, index = position
        row = tests_of(graph).filter(number=number, side=side, index=index).first()
    if row is None:
        raise NotFound(
            "file_not_found",
            f"Revision {revision.oid[:10]} has no test tensor {path[:200]!r}.",
            "The page of its builds lists the test tensors.",
        )
    return row


def tests_of_job(job_uuid: str) -> tuple[TensorTicket, ...]:
    """The test tensors of a job's network, for its worker; may be empty."""
    job = Job.objects.select_related("revision").get(uuid=parse_uuid(job_uuid))
    graph = graph_of(job.revision)
    return tuple(tensor_ticket(row) for row in tests_of(graph)) if graph else ()


def tensor_ticket(row: TestTensor) -> TensorTicket:
    """A test tensor as its worker gets it; ``row.blob`` must be loaded."""
    return TensorTicket(
        number=row.number,
        side=row.side,
        index=row.index,
        name=row.name,
        is_made=row.is_made,
        file=FileTicket(test_path(row), row.blob_id, row.blob.size_bytes),
    )
