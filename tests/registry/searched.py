"""A shop floor on which a search has left builds."""

from typing import Any

from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_succeed
from registry.tables import Record
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

TOOLCHAIN = {"onnxruntime": "1.31.1", "onnx": "1.19.0"}


def searched_floor() -> Floor:
    """With a search that left a baseline and an int8 build that is faster."""
    made = shopfloor.floor()
    search(made, "half")
    return made


def search(floor: Floor, threads: str, *, finalist: str | None = None) -> None:
    """A search from asking to its end; it replaces the builds of those before.

    Args:
        threads: Tells its int8 build from those of others.
        finalist: The same of a candidate that is measured, and not published.
    """
    floor.tune()
    ticket = floor.claim()
    kept = (ticket.job_uuid, ticket.fence)
    builds = [
        published(floor, *kept, f"all-{threads}", is_baseline=True, ratio=1.0),
        published(
            floor, *kept, threads, tolerance="int8", accuracy=0.97, accuracy_reference=0.98
        ),
    ]  # fmt: skip
    if finalist:
        record(floor, *kept, finalist)
    builds_publish(job_uuid=ticket.job_uuid, fence=ticket.fence, builds=builds)
    result = {"summary": "found", "trials": 9, "ended": "out of time"}
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result=result)


def published(floor: Floor, job: str, fence: int, threads: str, **columns: Any) -> dict[str, Any]:
    """A build as ``builds_publish`` takes it, with its record."""
    made = {"provenance": {"toolchain": TOOLCHAIN}, **columns}
    return shopfloor.build(record(floor, job, fence, threads).pk, threads, **made)


def record(floor: Floor, job: str, fence: int, threads: str) -> Record:
    """A record that a job adds."""
    document = shopfloor.document(floor.revision, threads, job=job)
    return record_add(job_uuid=job, fence=fence, document=document)
