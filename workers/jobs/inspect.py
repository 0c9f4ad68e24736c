"""Inspect jobs: read a revision's files in a confined child process and store facts and tests."""

import hashlib
import importlib.metadata
import logging
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from hpcfair.formats import ONNX, TFLITE, TORCH_EXPORT, has_network
from hpcfair.isolation.limits import Limits
from hpcfair.tickets import FileTicket, GraphFacts, JobTicket
from registry.errors import Invalid
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.services.repository.hold import hold_pass
from registry.services.results.graph import graph_store
from registry.services.storage.blob import blob_adopt
from registry.services.work.attempt import job_note
from registry.validation.topology import MAX_GZIPPED, TopologyFacts, check_topology
from workers.device.errors import JobFailure
from workers.device.ports import Hub
from workers.device.testtensor import keep_tests
from workers.device.workspace import workspace
from workers.engine.child import call
from workers.engine.errors import CandidateFailed, LeaseLost
from workers.inspection.samples import NAME as SAMPLES
from workers.jobs.conversion import WALL_S, convert
from workers.jobs.device import device_settings
from workers.jobs.hub import RegistryHub

logger = logging.getLogger(__name__)

_WALL_S = 300.0
#: Limit of the first attempt: an inspection that takes longer yields, and begins anew later.
_QUICK_WALL_S = 30.0
#: Files that inspection always reads, by the end of their names.
_READ_SUFFIXES = (*ONNX.suffixes, *TFLITE.suffixes, *TORCH_EXPORT.suffixes)
#: Files up to this size are copied without asking whether a network needs them, up to a total.
_SMALL_BYTES, _SMALL_TOTAL_BYTES = 16 * 2**20, 256 * 2**20
#: Packages that read networks; results name them with their versions.
_TOOLS = ("hpcfair-hub", "onnx")


def work(hub: RegistryHub) -> dict[str, Any]:
    """Inspect the revision, after a conversion if it has weights and no network; returns a summary.

    Raises JobFailure if the files are invalid, cannot be converted, or the network does not open.
    """
    settings = device_settings()
    with workspace(settings.work, "inspect") as folder:
        if not has_network(file.path for file in hub.ticket.files):
            if not hub.ticket.yields:
                _give_way(hub, WALL_S)
            hub.ticket = replace(
                hub.ticket, files=(*hub.ticket.files, *convert(hub, settings, folder))
            )
        ticket = hub.ticket
        hub.progress("fetch", 0, None, f"{len(ticket.files)} files")
        inputs, scratch = folder / "files", folder / "scratch"
        drawings = scratch / "topologies"
        inputs.mkdir()
        drawings.mkdir(parents=True)
        wall_s = _WALL_S if ticket.yields else _QUICK_WALL_S
        limits = Limits(wall_s=wall_s, memory_bytes=settings.child_memory_bytes)
        try:
            _fetch_needed(hub, inputs, scratch, limits)
            hub.progress("inspect", 0, None, "reading the network")
            report = call(
                "workers.inspection.inspect:inspect",
                limits=limits,
                workspace=scratch,
                readable=[inputs],
                folder=str(inputs),
                topologies=str(drawings),
            )
        except CandidateFailed as failure:
            if failure.cause == "wall-clock" and not ticket.yields:
                _give_way(hub, _WALL_S)
            raise
        if error := report.get("error"):
            detail = f"{error['detail']} {error.get('hint', '')}".strip()
            raise JobFailure("invalid", error["code"], detail)
        primary = _store(ticket, report, drawings)
        hub.progress("tests", 0, None, "test tensors")
        tests = keep_tests(hub, settings, primary, folder)
    _require_fitting_samples(ticket, report)
    hold_pass(job_uuid=ticket.job_uuid, fence=ticket.fence)
    return {
        "summary": f"{primary.architecture_class}, {primary.parameters:,} parameters",
        "primary": report["primary"],
        "samples": report["samples"],
        "tests": len({tensor.number for tensor in tests}),
        "tools": {name: importlib.metadata.version(name) for name in _TOOLS},
        "warnings": report["warnings"],
    }


def _give_way(hub: Hub, estimate_s: float) -> NoReturn:
    """Yield a job that takes longer than most, so that others come first. Raises LeaseLost."""
    hub.write("yield", reason="It takes long: shorter jobs come first.", estimate_s=estimate_s)
    raise LeaseLost("the job yields to shorter ones")


def _fetch_needed(hub: Hub, inputs: Path, scratch: Path, limits: Limits) -> None:
    """Copy the files that inspection reads into ``inputs``: networks, samples, small files, and of
    the others those in which a network keeps weights. A revision may have terabytes of others."""
    needed: list[FileTicket] = []
    others: list[FileTicket] = []
    left = _SMALL_TOTAL_BYTES
    for file in hub.ticket.files:
        is_read = file.path.endswith(_READ_SUFFIXES) or file.path == SAMPLES
        if not is_read and file.size_bytes <= min(_SMALL_BYTES, left):
            left -= file.size_bytes
            is_read = True
        (needed if is_read else others).append(file)
    hub.fetch(needed, inputs)
    if others:
        paths = call(
            "workers.inspection.external_paths:external_paths",
            limits=limits,
            workspace=scratch,
            readable=[inputs],
            folder=str(inputs),
        )
        hub.fetch([file for file in others if file.path in paths], inputs)


def _require_fitting_samples(ticket: JobTicket, report: dict[str, Any]) -> None:
    """Refuse a new model whose samples do not fit its network. Later versions, and files of that
    name in models of other origin, get a warning only. Raises JobFailure."""
    samples = report["samples"]
    if samples and samples["problems"] and mlmodel_get(None, ticket.mlmodel).is_held:
        detail = f"{SAMPLES} does not fit {report['primary']}: {'; '.join(samples['problems'])}."
        hint = "Correct the arrays, or leave the file out."
        raise JobFailure("invalid", "samples_unreadable", f"{detail} {hint}")


def _keep(folder: Path, name: str | None, shown: str) -> TopologyFacts | None:
    """Check and store the topology in a file that the child process wrote; ``None`` without one.

    The child has read an untrusted network, so what it wrote is not trusted either.
    """
    path = folder / PurePosixPath(name or "").name
    if not name or path.is_symlink() or not path.is_file():
        return None
    if path.stat().st_size > MAX_GZIPPED:
        return None
    data = path.read_bytes()
    try:
        drawing = check_topology(data, hashlib.sha256(data).hexdigest(), shown)
    except Invalid:
        logger.warning("the topology of %s is not stored", shown, exc_info=True)
        return None
    blob_adopt(path=path)
    return drawing


def _store(ticket: JobTicket, report: dict[str, Any], drawings: Path) -> GraphFacts:
    graphs = [GraphFacts(**facts) for facts in report["graphs"]]
    primary = next(graph for graph in graphs if graph.path == report["primary"])
    for graph in graphs:
        graph_store(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            facts=graph,
            is_primary=graph is primary,
            drawing=_keep(drawings, report["topologies"].get(graph.path), graph.path),
        )
    for warning in report["warnings"]:
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=warning)
    return primary
