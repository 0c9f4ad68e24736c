"""Reads of remote runs: for the person who requested one, and for its worker."""

from collections.abc import Collection
from dataclasses import dataclass

from hpcfair.choice import LoadRequest
from hpcfair.tickets import FileTicket, RunTicket
from registry.errors import Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_jobs
from registry.selectors.results.build import build_get
from registry.selectors.results.graph import graph_of
from registry.selectors.results.reproduction import build_ticket
from registry.selectors.results.resolution import resolve
from registry.states import JobKind
from registry.tables import Blob, Build, RemoteRun, Revision, Target

#: Name of the archive of inputs in a worker's folder.
INPUTS = "inputs.npz"


@dataclass(frozen=True, slots=True)
class RunChoice:
    """The build of a run, or ``None`` for the published network, and the reason of the choice."""

    build: Build | None
    reason: str


def run_get(actor: Actor, job_uuid: str) -> RemoteRun:
    """The run of a job, with job, build and blobs, for the person who requested it.

    Raises ``NotFound``: ``run_not_found``, also for everybody else.
    """
    jobs = readable_jobs(actor).filter(kind=JobKind.RUN, uuid=parse_uuid(job_uuid))
    rows = RemoteRun.objects.select_related(
        "job__revision__mlmodel__namespace",
        "job__target",
        "job__device",
        "job__requested_by",
        "build__target",
        "build__record",
        "inputs",
        "outputs",
        "owner",
    ).defer("build__record__document", "build__record__envelope")
    run = rows.filter(job__in=jobs).first()
    if run is None:
        raise NotFound(
            "run_not_found",
            f"There is no run {job_uuid[:64]!r}.",
            "Runs are visible to the person who requested them, until they expire.",
        )
    return run


def run_outputs(run: RemoteRun) -> Blob:
    """The outputs of a run as ``.npz``. Raises ``NotFound``: ``outputs_not_found``."""
    if run.outputs is None:
        raise NotFound(
            "outputs_not_found",
            f"Run {run.job.uuid} has no outputs.",
            "It has not succeeded, or its outputs were deleted.",
        )
    return run.outputs


def best_for_run(
    revision: Revision, target: Target, tolerance: str | float, min_accuracy: float | None
) -> RunChoice:
    """The build of a revision that a machine of a target would load, by the rule of
    ``hpcfair.load``.

    Raises ``NotFound``: ``graph_not_found``; ``Invalid``: ``accuracy_not_measured``.
    """
    request = LoadRequest(
        architecture=target.architecture,
        features=target.features,
        runtimes=_runtimes(revision),
        tolerance=tolerance,
        min_accuracy=min_accuracy,
    )
    choice = resolve(revision, request).choice
    return RunChoice(choice.build, choice.reason)


def build_for_run(actor: Actor, revision: Revision, target: Target, uuid: str) -> RunChoice:
    """The build of a revision that the requester names.

    Raises ``NotFound``: ``build_not_found``; ``Invalid``: ``invalid_target``: machines of the
    target cannot load it.
    """
    build = build_get(actor, uuid)
    if build.graph.revision_id != revision.pk:
        raise NotFound(
            "build_not_found", f"Revision {revision.oid[:10]} has no build {uuid[:64]!r}."
        )
    lacking = sorted(set(build.target.features) - set(target.features))
    if build.target.architecture != target.architecture or lacking:
        reason = f"lack {', '.join(lacking)}" if lacking else f"are {target.architecture}"
        raise Invalid(
            "invalid_target",
            f"The build is for {build.target.slug}; machines of {target.slug} {reason}.",
            "Name another build or target, or no build.",
        )
    return RunChoice(build, "It was named in the request.")


def run_of_job(job_uuid: str) -> RunTicket:
    """The ticket of a run for its worker. Raises ``NotFound``: ``run_not_found``."""
    rows = RemoteRun.objects.select_related("inputs", "build")
    run = rows.filter(job__uuid=parse_uuid(job_uuid)).first()
    if run is None or run.inputs is None:
        raise NotFound("run_not_found", f"The inputs of run {job_uuid[:64]!r} were deleted.")
    inputs = FileTicket(INPUTS, run.inputs.sha256, run.inputs.size_bytes)
    return RunTicket(inputs, build_ticket(run.build) if run.build else None, run.limit_s)


def _runtimes(revision: Revision) -> Collection[str]:
    """All runtimes of a revision's builds: only the run shows whether its device has one."""
    rows = Build.objects.filter(graph=graph_of(revision), withdrawn_at=None)
    return set(rows.values_list("runtime", flat=True))
