"""Reads of job bundles, and the hub's data that the jobs of a bundle will read."""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from django.db.models import QuerySet

from hpcfair.bundle import NO_SEARCH_KEY, BundledBlob, pieces
from hpcfair.tickets import FileTicket, JobTicket, parse_test_path
from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, require_staff
from registry.selectors.analysis.principle import published_anchors
from registry.selectors.analysis.workloadjob import task_of_job
from registry.selectors.results.graph import graph_of
from registry.states import WORKLOAD_JOBS, JobKind
from registry.storage import blob_store
from registry.tables import (
    Graph,
    Job,
    JobBundle,
    PassPortfolio,
    PassTrial,
    ScheduleTask,
    ScheduleUse,
    Trial,
)

#: Kinds of jobs that can be exported. The others are done by the hub, or a person waits for them.
BUNDLED_KINDS = (
    JobKind.TUNE,
    JobKind.SCHEDULE,
    JobKind.ABLATE,
    JobKind.CROSS,
    JobKind.PASSES,
    JobKind.REPRODUCE,
)
#: Upper bounds on toolchains of a network and on operator workloads whose trials are exported.
_TOOLCHAINS, _WORKLOADS = 20, 200

_SAMPLES = "samples.npz"
#: Files up to this size are exported with every network, such as its card.
_SMALL_BYTES = 2**20

#: An operation of :mod:`registry.services.work.operations` with its parameters.
Read = tuple[str, dict[str, Any]]


def bundle_get(actor: Actor, uuid: str) -> JobBundle:
    """The bundle of that UUID, with its device; for operators.

    Raises ``NotFound`` ``bundle_not_found``; the errors of ``require_staff``.
    """
    row = bundles(actor).filter(uuid=parse_uuid(uuid)).first()
    if row is None:
        raise NotFound("bundle_not_found", f"There is no bundle {uuid[:64]!r}.")
    return row


def bundles(actor: Actor) -> QuerySet[JobBundle]:
    """All bundles, newest first; for operators. Raises the errors of ``require_staff``."""
    require_staff(actor)
    rows = JobBundle.objects.select_related("device__target")
    return rows.order_by("-created_at", "-id").defer("envelope")


def bundle_pieces(bundle: JobBundle) -> Iterator[bytes]:
    """The bytes of a bundle's file, in pieces, from its envelope and the stored files.

    Raises ``NotFound`` ``blob_not_found`` while writing if a file was deleted since the export.
    """
    manifest = json.loads(base64.b64decode(bundle.envelope["payload"]))
    blobs = [BundledBlob(blob["sha256"], blob["size_bytes"]) for blob in manifest["blobs"]]
    return pieces(bundle.envelope, blobs, blob_store().open)


def reads_of(job: Job) -> list[Read]:
    """The reads of a job for which the hub has data now.

    A device may have tools that the hub has no data for. Reads with their search keys and
    toolchains get an empty answer on the device.
    """
    graph = graph_of(job.revision)
    if graph is None:
        return []
    return [read for reads in _READS[JobKind(job.kind)] for read in reads(job, graph)]


def files_of(ticket: JobTicket, answers: Mapping[str, Any]) -> list[BundledBlob]:
    """The files of a job's network, its published test tensors, and small files beside it. None for
    a job on a workload, which reads its source, and for a reproduction whose network has stored
    test tensors.

    Args:
        answers: Answers to the job's reads, by operation.
    """
    graph = ticket.graph
    if graph is None or ticket.kind in WORKLOAD_JOBS or answers.get("tests_of_job"):
        return []
    forms = [form["path"] for form in graph.forms]
    paths = {graph.path, *graph.external_data, *forms, _SAMPLES}
    return _as_blobs(
        file
        for file in ticket.files
        if file.path in paths or file.size_bytes <= _SMALL_BYTES or _is_test(file.path)
    )


def files_in_answers(answers: Mapping[str, Any]) -> list[BundledBlob]:
    """The files that the answers to a job's reads name: files of builds, and test tensors."""
    builds = [file for build in answers.get("builds_of_job", ()) for file in build["files"]]
    tensors = [tensor["file"] for tensor in answers.get("tests_of_job", ())]
    return _as_blobs(FileTicket.from_json(file) for file in (*builds, *tensors))


def _own(*names: str) -> Callable[[Job, Graph], list[Read]]:
    """Reads without parameters."""

    def reads(_: Job, __: Graph) -> list[Read]:
        return [(name, {}) for name in names]

    return reads


def _searches(job: Job, graph: Graph) -> list[Read]:
    same = Graph.objects.filter(graph_hash=graph.graph_hash, is_primary=True)
    searches = Job.objects.filter(
        kind=JobKind.TUNE, target=job.target_id, revision__in=same.values("revision")
    )
    keys = Trial.objects.filter(job__in=searches).order_by("search_key")
    search_keys = list(keys.values_list("search_key", flat=True).distinct()[:_TOOLCHAINS])
    histories: list[Read] = [("history", {"search_key": key}) for key in search_keys]
    return [
        *histories,
        *(("experience", {"search_key": key}) for key in (NO_SEARCH_KEY, *search_keys)),
    ]


def _schedules(job: Job, graph: Graph) -> list[Read]:
    tasks = ScheduleTask.objects.filter(target=job.target_id).order_by("toolchain")
    toolchains = tasks.values_list("toolchain", flat=True).distinct()[:_TOOLCHAINS]
    return [
        ("schedules_best", {"toolchain": toolchain, "graph_hash": graph.graph_hash})
        for toolchain in toolchains
    ]


def _workloads(job: Job, graph: Graph) -> list[Read]:
    """Trials of the network's workloads; if these are unknown, of the target's newest ones."""
    tasks = ScheduleTask.objects.filter(target=job.target_id)
    used = tasks.filter(
        pk__in=ScheduleUse.objects.filter(graph_hash=graph.graph_hash).values("task")
    )
    some = (used if used.exists() else tasks).order_by("-id").values("toolchain", "key")
    return [
        (name, dict(parameters))
        for parameters in some[:_WORKLOADS]
        for name in ("schedule_trials", "schedules_similar")
    ]


def _workload(job: Job, _: Graph) -> list[Read]:
    """Trials of the workload that the job is about."""
    task = task_of_job(job)
    return [("schedule_trials", {"toolchain": task.toolchain, "key": task.key})]


def _principles(_: Job, __: Graph) -> list[Read]:
    return [("principles", {"anchors": [anchor]}) for anchor in published_anchors()]


def _portfolios(job: Job, graph: Graph) -> list[Read]:
    rows = PassPortfolio.objects.filter(
        target=job.target_id, architecture_class=graph.architecture_class
    ).order_by("backend", "toolchain")
    return [
        (
            "portfolio_of",
            {
                "architecture_class": graph.architecture_class,
                "toolchains": {row.backend: row.toolchain},
            },
        )
        for row in rows
    ]


def _pass_trials(job: Job, graph: Graph) -> list[Read]:
    of_class = PassTrial.objects.filter(
        target=job.target_id, architecture_class=graph.architecture_class
    )
    columns = ("backend", "toolchain", "architecture_class")
    classes = of_class.order_by("backend", "toolchain").values(*columns).distinct()
    own = PassTrial.objects.filter(job=job).order_by("backend").values("backend").distinct()
    reads: list[Read] = [("class_trials", dict(each)) for each in classes[:_TOOLCHAINS]]
    return [*reads, *(("pass_trials_of_job", dict(each)) for each in own)]


_READS: dict[JobKind, tuple[Callable[[Job, Graph], list[Read]], ...]] = {
    JobKind.TUNE: (
        _own("trials_of_job", "inconclusive_candidates", "has_confirmed_builds", "roof_tools"),
        _searches,
        _schedules,
        _portfolios,
    ),
    JobKind.SCHEDULE: (_own("schedule_trials_of_job"), _workloads, _principles),
    JobKind.ABLATE: (
        _own("workload_of_job", "schedule_trials_of_job", "ablations_of_job"),
        _workload,
    ),
    JobKind.CROSS: (
        _own(
            "workload_of_job",
            "schedule_trials_of_job",
            "foreign_schedules_of_job",
            "cross_applications_of_job",
        ),
        _workload,
    ),
    JobKind.PASSES: (_schedules, _portfolios, _pass_trials),
    JobKind.REPRODUCE: (_own("builds_of_job", "outcomes_of_job", "tests_of_job", "roof_tools"),),
}


def _is_test(path: str) -> bool:
    return parse_test_path("/".join(path.split("/")[-2:])) is not None


def _as_blobs(files: Iterable[FileTicket]) -> list[BundledBlob]:
    return [BundledBlob(file.sha256, file.size_bytes) for file in files]
