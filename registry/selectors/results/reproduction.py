"""Reads of reproductions, which are runs of builds on the test tensors."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from hpcfair.tickets import BuildTicket, FileTicket
from registry.ids import parse_uuid
from registry.schemas import sha256_of
from registry.selectors.results.graph import graph_of
from registry.states import ReproductionOutcome
from registry.tables import Build, Job, Reproduction, Revision, Target


def toolchain_of(tools: Mapping[str, str]) -> str:
    """SHA-256 of names and versions of programs, as canonical JSON."""
    return sha256_of(dict(tools))


def latest_of(builds: Iterable[Build]) -> dict[int, Reproduction]:
    """For lists: key of a build to its newest reproduction; builds without one are left out."""
    return {row.build_id: row for row in _latest(builds).select_related("job__device")}


def standings(builds: Iterable[Build]) -> dict[int, tuple[str, bool]]:
    """For lists: key of a build to the outcome of its newest reproduction ("" if there is none) and
    whether the device that measured it is trusted; in one query."""
    rows = Build.objects.filter(pk__in=[build.pk for build in builds])
    columns = (Subquery(_newest("pk", "outcome")), "record__device__is_trusted")
    return {
        key: (outcome or "", is_trusted is not False)
        for key, outcome, is_trusted in rows.values_list("pk", *columns)
    }


def history(build: Build) -> QuerySet[Reproduction]:
    """All reproductions of a build, newest first, with job and device."""
    rows = build.reproductions.select_related("job__device")
    return rows.order_by("-created_at", "-pk")


def reproduced(reproduction: Reproduction | None) -> bool | None:
    """Whether a reproduction succeeded; ``None`` without one."""
    if reproduction is None:
        return None
    return reproduction.outcome == ReproductionOutcome.REPRODUCED


def builds_of_job(job_uuid: str) -> tuple[BuildTicket, ...]:
    """Published builds of a reproduction job's network and target.

    The baseline comes first; the others are compared with it.
    """
    job = Job.objects.select_related("revision").get(uuid=parse_uuid(job_uuid))
    rows = Build.objects.filter(
        graph=graph_of(job.revision), target=job.target_id, withdrawn_at=None
    )
    rows = rows.prefetch_related("files__blob").order_by("-is_baseline", "pk")
    return tuple(build_ticket(build) for build in rows)


def outcomes_of_job(job_uuid: str) -> dict[str, str]:
    """UUID of a build to its outcome in that job; builds not run yet are left out."""
    rows = Reproduction.objects.filter(job__uuid=parse_uuid(job_uuid))
    return {str(uuid): outcome for uuid, outcome in rows.values_list("build__uuid", "outcome")}


def of_job(job: Job) -> QuerySet[Reproduction]:
    """Reproductions of a job in order of execution, with their builds."""
    return job.reproductions.select_related("build").order_by("pk")


def unreproduced(target: Target, tools: Mapping[str, Mapping[str, str]]) -> QuerySet[Revision]:
    """Revisions with builds on ``target`` not reproduced, or last reproduced with other tools.

    ``tools`` maps backends to names and versions of the programs that run their builds. Builds of
    other backends are left out.
    """
    published = Build.objects.filter(target=target, withdrawn_at=None).annotate(
        toolchain=Subquery(_newest("pk", "toolchain"))
    )
    outdated = Q(pk__in=[])
    for backend, versions in tools.items():
        outdated |= Q(record__backend=backend) & (
            Q(toolchain=None) | ~Q(toolchain=toolchain_of(versions))
        )
    revisions = published.filter(outdated).values("graph__revision")
    rows = Revision.objects.filter(pk__in=revisions, graphs__is_primary=True).distinct()
    return rows.select_related("mlmodel__namespace").order_by("-pk")


def _latest(builds: Iterable[Build]) -> QuerySet[Reproduction]:
    rows = Reproduction.objects.filter(build__in=[build.pk for build in builds])
    return rows.filter(pk=Subquery(_newest("build", "pk")))


def _newest(build: str, column: str) -> QuerySet[Reproduction, Any]:
    """``column`` of the newest reproduction by a trusted device, of the build that the outer row's
    ``build`` names."""
    rows = Reproduction.objects.filter(build=OuterRef(build))
    rows = rows.exclude(job__device__is_trusted=False)
    newest = rows.order_by(F("created_at").desc(), F("pk").desc())
    first: QuerySet[Reproduction, Any] = newest.values(column)[:1]
    return first


def build_ticket(build: Build) -> BuildTicket:
    """The ticket of a published build."""
    files = sorted(build.files.all(), key=lambda file: file.path)
    return BuildTicket(
        uuid=str(build.uuid),
        backend=build.candidate["backend"],
        runtime=build.runtime,
        runtime_options=build.runtime_options,
        entry_point=build.entry_point,
        tolerance=build.tolerance,
        is_baseline=build.is_baseline,
        files=tuple(FileTicket(file.path, file.blob_id, file.blob.size_bytes) for file in files),
    )
