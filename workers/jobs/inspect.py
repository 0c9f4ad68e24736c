"""Inspection: reads a revision's files in a limited child process and keeps what they say.

The network is run, too, where nobody published tests of it: that gives it some.
"""

import importlib.metadata
from typing import Any

from django.conf import settings

from registry.errors import Invalid
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.results.graph import graph_store
from registry.services.work.attempt import job_note
from registry.services.work.plan import plan
from registry.tickets import GraphFacts, JobTicket
from workers.engine.child import call
from workers.engine.types import Limits
from workers.fleet.probe import ThisMachine
from workers.jobs.errors import JobFailed
from workers.jobs.lease import Lease
from workers.jobs.testtensor import keep_tests
from workers.jobs.workspace import fetch, workspace

_WALL_S = 300.0
#: What reads a network; records of it name them with their versions.
_TOOLS = ("hpcfair-hub", "onnx")


def work(ticket: JobTicket, lease: Lease, here: ThisMachine | None) -> dict[str, Any]:  # noqa: ARG001
    """Inspect the revision; returns a summary for people.

    Raises:
        JobFailed: the files are not what a model's should be; the code says how.
    """
    with workspace("inspect") as folder:
        lease.progress("fetch", 0, None, f"{len(ticket.files)} files")
        inputs, scratch = folder / "files", folder / "scratch"
        inputs.mkdir()
        scratch.mkdir()
        fetch(ticket.files, inputs)
        lease.progress("inspect", 0, None, "reading the network")
        found = call(
            "workers.inspection.inspect:inspect",
            limits=Limits(wall_s=_WALL_S, memory_bytes=settings.CHILD_MEMORY_BYTES),
            workspace=scratch,
            readable=[inputs],
            folder=str(inputs),
        )
        if error := found.get("error"):
            detail = f"{error['detail']} {error.get('hint', '')}".strip()
            raise JobFailed("invalid", error["code"], detail)
        primary = _keep(ticket, found)
        lease.progress("tests", 0, None, "test tensors")
        tests = keep_tests(ticket, primary, folder)
    return {
        "summary": f"{primary.architecture_class}, {primary.parameters:,} parameters",
        "primary": found["primary"],
        "samples": found["samples"],
        "tests": len({tensor.number for tensor in tests}),
        "tools": {name: importlib.metadata.version(name) for name in _TOOLS},
        "warnings": found["warnings"],
    }


def after(ticket: JobTicket) -> None:
    """Plan searches for what is known now."""
    revision = revision_get(mlmodel_get(None, ticket.mlmodel), ticket.revision_oid)
    try:
        plan(actor=None, revision=revision)
    except Invalid:
        # Nobody serves a target yet; the first device that joins catches up.
        return


def _keep(ticket: JobTicket, found: dict[str, Any]) -> GraphFacts:
    """Keep what was found; returns the facts of the network that counts."""
    graphs = [GraphFacts(**facts) for facts in found["graphs"]]
    primary = next(graph for graph in graphs if graph.path == found["primary"])
    for graph in graphs:
        graph_store(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            facts=graph,
            is_primary=graph is primary,
        )
    for warning in found["warnings"]:
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=warning)
    return primary
