"""Reads of jobs: for users, with access checks by ``actor``, and for workers as tickets."""

from collections.abc import Iterable

from django.conf import settings
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from hpcfair.tickets import FileTicket, JobTicket
from registry.errors import NotFound
from registry.fairshare import level_of
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_jobs
from registry.selectors.people.account import named
from registry.selectors.repository.revision import files_of
from registry.selectors.results.conversion import conversion_files
from registry.selectors.results.graph import graph_facts, graph_of
from registry.selectors.work.ban import banned_on
from registry.states import JobKind, JobState, RefKind
from registry.tables import (
    ConversionFile,
    File,
    Graph,
    Job,
    JobEvent,
    MLModel,
    Namespace,
    Ref,
    Reproduction,
    Revision,
    Target,
    Trial,
)
from registry.transitions import JOB_ENDED

#: Jobs of a revision among which the newest of each kind and target are looked for.
_NEWEST_JOBS = 100
_RELATED = ("revision__mlmodel__namespace", "target", "device", "requested_by")


def job_get(actor: Actor, uuid: str) -> Job:
    """The job of that UUID, with model, target and device.

    Raises ``NotFound``: ``job_not_found``, also for a job that the actor may not read.
    """
    job = readable_jobs(actor).filter(uuid=parse_uuid(uuid)).select_related(*_RELATED).first()
    if job is None:
        raise NotFound(
            "job_not_found",
            f"There is no job {uuid[:64]!r}.",
            "Check the id, or sign in if the model is private.",
        )
    return job


def jobs_of(
    actor: Actor,
    *,
    state: str | None = None,
    kind: str | None = None,
    mlmodel: str | None = None,
    target: str | None = None,
) -> QuerySet[Job]:
    """Jobs the actor may see, newest first; ``mlmodel`` is ``namespace/name`` in any case."""
    rows = readable_jobs(actor).select_related(*_RELATED).order_by("-id")
    if state:
        rows = rows.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    if target:
        # A subquery instead of a join, so that only the index of a target's jobs is read.
        rows = rows.filter(target=Subquery(Target.objects.filter(slug=target).values("pk")[:1]))
    if mlmodel:
        namespace, _, name = mlmodel.partition("/")
        mlmodels = named(MLModel.objects.all(), name)
        mlmodels = mlmodels.filter(namespace__in=named(Namespace.objects.all(), namespace))
        rows = rows.filter(revision__mlmodel__in=mlmodels)
    return rows


def latest_job(revision: Revision, kind: JobKind) -> Job | None:
    """The newest job of a kind on the revision."""
    return Job.objects.filter(revision=revision, kind=kind).order_by("-id").first()


def open_jobs(revision: Revision) -> QuerySet[Job]:
    """The revision's jobs that have not ended, oldest first; without runs, which are private."""
    rows = Job.objects.filter(revision=revision, state__in=[JobState.QUEUED, JobState.LEASED])
    return rows.exclude(kind=JobKind.RUN).select_related(*_RELATED).order_by("id")


def newest_jobs(revision: Revision) -> list[Job]:
    """The newest ended job of each kind and target of a revision, unless a newer one is open; runs,
    which are private, are left out."""
    rows = Job.objects.filter(revision=revision).exclude(kind=JobKind.RUN)
    rows = rows.select_related("target").order_by("-id")
    newest: dict[tuple[str, int | None], Job] = {}
    for job in rows.defer("result")[:_NEWEST_JOBS]:
        newest.setdefault((job.kind, job.target_id), job)
    return [job for job in newest.values() if job.state in JOB_ENDED]


def trials_of(job: Job) -> QuerySet[Trial]:
    """The job's trials in the order they were run, without their raw samples."""
    return Trial.objects.filter(job=job).order_by("number").defer("measurement")


def best_trials(jobs: Iterable[Job]) -> dict[int, Trial]:
    """Key of a job to its trial of the smallest ratio that is proved faster than the default."""
    trials = Trial.objects.filter(job=OuterRef("pk"), ratio_high__lt=1).order_by("ratio", "number")
    rows = Job.objects.filter(pk__in=[job.pk for job in jobs])
    best = rows.annotate(best=Subquery(trials.values("pk")[:1])).values_list("pk", "best")
    keys = {trial: job for job, trial in best if trial is not None}
    rows_of_best = Trial.objects.filter(pk__in=keys).defer("measurement")
    return {keys[trial.pk]: trial for trial in rows_of_best}


def longest_search_s() -> float:
    """Most seconds that a tune job may ask for."""
    return 6.0 * settings.TUNE_BUDGET_S


def job_version(job: Job) -> str:
    """Changes when the job's state, trials, log or reproductions do."""
    counts = (
        Trial.objects.filter(job=job).count(),
        JobEvent.objects.filter(job=job).count(),
        Reproduction.objects.filter(job=job).count(),
    )
    return ".".join([job.state, *map(str, counts)])


def events_of(job: Job) -> QuerySet[JobEvent]:
    """The job's log, oldest line first."""
    return JobEvent.objects.filter(job=job).order_by("id")


def job_names(actor: Actor, keys: Iterable[int | None]) -> dict[int | None, tuple[str, str]]:
    """Name and UUID of each job by its key, in the order of ``keys``.

    A job of a model that the actor may not read is ``another job`` without a UUID; ``None`` stands
    for jobs that were deleted.
    """
    ordered = list(dict.fromkeys(keys))
    rows = readable_jobs(actor).filter(pk__in=[key for key in ordered if key is not None])
    readable = {
        job.pk: (f"{job.kind} of {job.revision.mlmodel.full_name}", str(job.uuid))
        for job in rows.select_related("revision__mlmodel__namespace")
    }
    return {
        key: readable.get(key, ("another job", "")) if key is not None else ("a deleted job", "")
        for key in ordered
    }


def unsearched_heads(target: Target) -> QuerySet[Revision]:
    """Heads of default branches whose network was never searched on ``target``, newest first.

    A failed search counts, because it would fail again. Networks that failed their inspection are
    left out.
    """
    searches = Job.objects.filter(revision=OuterRef("pk"), target=target, kind=JobKind.TUNE)
    inspections = Job.objects.filter(revision=OuterRef("pk"), kind=JobKind.INSPECT)
    is_sound = ~Exists(inspections.filter(state=JobState.FAILED)) | Exists(
        inspections.filter(state=JobState.SUCCEEDED)
    )
    return (
        default_heads()
        .filter(~Exists(searches), is_sound)
        .select_related("mlmodel__namespace")
        .order_by("-id")
    )


def default_heads() -> QuerySet[Revision]:
    """Heads of default branches that have an inspected network."""
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    graphs = Graph.objects.filter(revision=OuterRef("pk"), is_primary=True)
    return Revision.objects.filter(Exists(graphs), pk__in=heads.values("revision"))


def job_ticket(job: Job) -> JobTicket:
    """The data that a worker needs to do ``job``."""
    revision = job.revision
    graph = graph_of(revision)
    files: list[File | ConversionFile] = [*files_of(revision), *conversion_files(revision)]
    return JobTicket(
        job_uuid=str(job.uuid),
        kind=job.kind,
        attempt=job.attempt,
        fence=job.fence,
        lease_s=float(settings.JOB_LEASE_S),
        mlmodel=revision.mlmodel.full_name,
        revision_oid=revision.oid,
        target=job.target.slug if job.target else "",
        device=job.device.name if job.device else "",
        parameters=job.parameters,
        files=tuple(FileTicket(f.path, f.blob_id, f.blob.size_bytes) for f in files),
        graph=graph_facts(graph) if graph else None,
        card=revision.card,
        yields=job.yields,
        settings={
            "tune_budget_s": float(settings.TUNE_BUDGET_S),
            "schedule_s": float(settings.SCHEDULE_S),
            "ablation_s": float(settings.ABLATION_S),
            "principles": float(settings.PRINCIPLES),
            "passes_s": float(settings.PASSES_S),
            "roofs_s": float(settings.ROOFS_S),
            # Background jobs of devices give way to others between two steps.
            "level": float(level_of(job.priority)),
        },
        banned=banned_on(job.target) if job.target else (),
    )
