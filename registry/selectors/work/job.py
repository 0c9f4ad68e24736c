"""Reads of jobs: for users, with access checks by ``actor``, and for workers as tickets."""

from django.conf import settings
from django.db.models import Exists, F, OuterRef, QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_jobs
from registry.selectors.people.account import named
from registry.selectors.results.graph import graph_facts, graph_of
from registry.states import JobKind, JobState, RefKind
from registry.tables import Graph, Job, JobEvent, MLModel, Namespace, Ref, Revision, Target, Trial
from registry.tickets import FileTicket, JobTicket

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
        rows = rows.filter(target__slug=target)
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
    """The revision's jobs that have not ended, oldest first."""
    rows = Job.objects.filter(revision=revision, state__in=[JobState.QUEUED, JobState.LEASED])
    return rows.select_related(*_RELATED).order_by("id")


def trials_of(job: Job) -> QuerySet[Trial]:
    """The job's trials in the order they were run."""
    return Trial.objects.filter(job=job).order_by("number")


def events_of(job: Job) -> QuerySet[JobEvent]:
    """The job's log, oldest line first."""
    return JobEvent.objects.filter(job=job).order_by("id")


def unsearched_heads(target: Target) -> QuerySet[Revision]:
    """Heads of default branches whose network was never searched on ``target``, newest first.

    A failed search counts, because it would fail again.
    """
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    graphs = Graph.objects.filter(revision=OuterRef("pk"), is_primary=True)
    searches = Job.objects.filter(revision=OuterRef("pk"), target=target, kind=JobKind.TUNE)
    return (
        Revision.objects.filter(Exists(graphs), ~Exists(searches), pk__in=heads.values("revision"))
        .select_related("mlmodel__namespace")
        .order_by("-id")
    )


def job_ticket(job: Job) -> JobTicket:
    """The data that a worker needs to do ``job``."""
    revision = job.revision
    graph = graph_of(revision)
    files = revision.files.select_related("blob").order_by("path")
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
    )
