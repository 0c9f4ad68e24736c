"""Test tensors of a network, stored once by the job that read or made them."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from hpcfair.tickets import TensorTicket
from registry.errors import Invalid
from registry.ids import SHA256_RE
from registry.selectors.results.testtensor import tensor_ticket, tests_of
from registry.services.audit import audit
from registry.services.results.graph import required_graph
from registry.services.storage.blob import blobs_hold
from registry.services.work.lease import held_job
from registry.states import TensorSide
from registry.tables import Graph, TestTensor
from registry.validation.texts import check_json

#: Upper bound on the tensors of all test sets of a network.
MOST_TENSORS = 20_000
_BATCH = 500
_REQUIRED = frozenset({"number", "side", "index", "name", "sha256", "is_made"})
_LARGEST = 999_999
_LONGEST_NAME = 1024


def tests_store(
    *, job_uuid: str, fence: int, tensors: Sequence[dict[str, Any]]
) -> tuple[TensorTicket, ...]:
    """Store the test tensors of a job's network, unless it has some: these never change.

    Args:
        tensors: ``number`` of the set, ``side``, ``index``, ``name``, ``sha256`` of a stored
            ``TensorProto``, and whether the hub made it (``is_made``). Each set has inputs in
            order, from 0, and outputs.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        NotFound: ``graph_not_found``.
        Invalid: ``invalid_request``, ``blob_missing``.
    """
    check_json({"tensors": list(tensors)})
    _check(tensors)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        graph = required_graph(job)
        # Locked: an inspection and a reproduction may store tests at the same time.
        list(Graph.objects.select_for_update().filter(pk=graph.pk))
        if not tests_of(graph).exists():
            blobs_hold({tensor["sha256"] for tensor in tensors})
            rows = [_row(graph.pk, tensor) for tensor in tensors]
            TestTensor.objects.bulk_create(rows, batch_size=_BATCH)
            mlmodel = job.revision.mlmodel
            audit(
                None,
                "test.store",
                f"{mlmodel.full_name}@{job.revision.oid}",
                namespace=mlmodel.namespace.name,
                detail={"job": str(job.uuid), "tensors": len(rows)},
            )
        return tuple(tensor_ticket(row) for row in tests_of(graph))


def _row(graph: int, tensor: dict[str, Any]) -> TestTensor:
    columns = dict(tensor)
    return TestTensor(graph_id=graph, blob_id=columns.pop("sha256"), **columns)


def _check(tensors: Sequence[dict[str, Any]]) -> None:
    fields = {
        str(number): fault for number, tensor in enumerate(tensors) if (fault := _fault(tensor))
    }
    if not fields:
        fields = _incomplete(tensors)
    if not tensors or len(tensors) > MOST_TENSORS:
        fields["tensors"] = f"must be 1 to {MOST_TENSORS:,}"
    if fields:
        raise Invalid("invalid_request", "The test tensors are invalid.", fields=fields)


def _fault(tensor: dict[str, Any]) -> str:
    if tensor.keys() != _REQUIRED:
        return f"must have {', '.join(sorted(_REQUIRED))}"
    if tensor["side"] not in TensorSide.values:
        return f"side must be one of {', '.join(TensorSide.values)}"
    numbers = (tensor["number"], tensor["index"])
    if not all(type(number) is int and 0 <= number <= _LARGEST for number in numbers):
        return f"number and index must be integers from 0 to {_LARGEST:,}"
    name = tensor["name"]
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        return f"name must be 1 to {_LONGEST_NAME} characters"
    if not SHA256_RE.fullmatch(str(tensor["sha256"])):
        return "sha256 must be a SHA-256 digest"
    return "" if isinstance(tensor["is_made"], bool) else "is_made must be true or false"


def _incomplete(tensors: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Name of a test set to its fault: duplicate or missing tensors, or no outputs."""
    sides: dict[tuple[int, str], list[int]] = {}
    for tensor in tensors:
        sides.setdefault((tensor["number"], tensor["side"]), []).append(tensor["index"])
    faults = {
        f"test_data_set_{number}": f"must have each {side} once, numbered from 0"
        for (number, side), indices in sides.items()
        if sorted(indices) != list(range(len(indices)))
    }
    for number in {number for number, _ in sides}:
        # A network may have no inputs, but a test without outputs checks nothing.
        if (number, TensorSide.OUTPUT.value) not in sides:
            faults[f"test_data_set_{number}"] = "must have outputs"
    return faults
