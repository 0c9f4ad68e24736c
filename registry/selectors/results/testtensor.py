"""Reads of test tensors: what goes into a network, and what must come out."""

import re
from collections.abc import Iterable

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.results.graph import graph_of
from registry.states import TensorSide
from registry.tables import Graph, Job, Revision, TestTensor
from registry.tickets import FileTicket, TensorTicket

# No number of a set or of a tensor has more digits.
_NUMBER = "0|[1-9][0-9]{0,5}"
_PATH = re.compile(
    rf"test_data_set_(?P<number>{_NUMBER})/(?P<side>input|output)_(?P<index>{_NUMBER})\.pb"
)


def tests_of(graph: Graph) -> QuerySet[TestTensor]:
    """The test tensors of a network with their bytes: by set, inputs first, in their order."""
    rows = TestTensor.objects.filter(graph=graph).select_related("blob")
    # "input" comes before "output" in every alphabet.
    return rows.order_by("number", "side", "index")


def test_sets(revision: Revision) -> dict[int, list[TestTensor]]:
    """Number to tensors of each test set of the revision's network; empty where nothing is known.

    For pages and the API; see :func:`tests_of` for the order.
    """
    graph = graph_of(revision)
    return by_set(tests_of(graph)) if graph else {}


def by_set(rows: Iterable[TestTensor]) -> dict[int, list[TestTensor]]:
    """Rows of one network, in the order of :func:`tests_of`, parted into their sets."""
    found: dict[int, list[TestTensor]] = {}
    for row in rows:
        found.setdefault(row.number, []).append(row)
    return found


def test_path(row: TestTensor) -> str:
    """Where it is served, below ``/<namespace>/<name>/tests/<commit id>/``; as ONNX names it."""
    return f"test_data_set_{row.number}/{row.side}_{row.index}.pb"


def place_of(path: str) -> tuple[int, TensorSide, int] | None:
    """Number of the set, side and index of the tensor that ONNX keeps at ``path``, if any."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    return int(found["number"]), TensorSide(found["side"]), int(found["index"])


def tensor_get(revision: Revision, path: str) -> TestTensor:
    """The test tensor that :func:`test_path` calls ``path``.

    Raises:
        NotFound: ``file_not_found``.
    """
    graph, place = graph_of(revision), place_of(path)
    row = None
    if graph is not None and place is not None:
        number, side, index = place
        row = tests_of(graph).filter(number=number, side=side, index=index).first()
    if row is None:
        raise NotFound(
            "file_not_found",
            f"Revision {revision.oid[:10]} has no test tensor {path[:200]!r}.",
            "The page of its builds lists those there are.",
        )
    return row


def tests_of_job(job_uuid: str) -> tuple[TensorTicket, ...]:
    """The test tensors of the network that a job is about, for its worker; empty if none."""
    job = Job.objects.select_related("revision").get(uuid=parse_uuid(job_uuid))
    graph = graph_of(job.revision)
    return tuple(tensor_ticket(row) for row in tests_of(graph)) if graph else ()


def tensor_ticket(row: TestTensor) -> TensorTicket:
    """A row, with its bytes in hand, as a worker is told of it."""
    return TensorTicket(
        number=row.number,
        side=row.side,
        index=row.index,
        name=row.name,
        is_made=row.is_made,
        file=FileTicket(test_path(row), row.blob_id, row.blob.size_bytes),
    )
