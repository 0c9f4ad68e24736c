"""Reads of published artefacts."""

from django.db.models import Prefetch, QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.scenarios import Scenario
from registry.selectors.access import Actor, readable_builds
from registry.selectors.results.graph import graph_of
from registry.states import RecordKind
from registry.tables import Build, BuildFile, Job, Record, Revision, Target


def build_get(actor: Actor, uuid: str) -> Build:
    """The readable build of that UUID, also a withdrawn one, with its files.

    Raises ``NotFound``: ``build_not_found``, also for an unreadable one.
    """
    rows = with_relations(readable_builds(actor)).select_related("signed_by")
    build = rows.filter(uuid=parse_uuid(uuid)).first()
    if build is None:
        raise NotFound("build_not_found", f"There is no build {uuid[:64]!r}.")
    return build


def build_file_get(build: Build, path: str) -> BuildFile:
    """One file of a build. Raises ``NotFound``: ``file_not_found``."""
    # Compared here: databases refuse some characters that a URL may hold, such as NUL.
    for file in build.files.select_related("blob"):
        if file.path == path:
            return file
    raise NotFound("file_not_found", f"Build {build.uuid} has no file {path[:200]!r}.")


def network_digest(build: Build) -> str:
    """SHA-256 of the network file that a build was made from, as its record states it."""
    rows = Record.objects.filter(pk=build.record_id)
    return str(rows.values_list("document__identity__model_sha256", flat=True).get())


def has_confirmed_builds(job_uuid: str) -> bool:
    """Whether builds of the job's network and target are published with a confirmed result."""
    job = Job.objects.select_related("revision").get(uuid=parse_uuid(job_uuid))
    published = Build.objects.filter(
        graph=graph_of(job.revision),
        target=job.target_id,
        scenario=Scenario.SINGLE_STREAM,
        withdrawn_at=None,
    )
    return published.filter(record__kind=RecordKind.CONFIRMED).exists()


def builds_of(
    revision: Revision, target: Target | None = None, scenario: str = Scenario.SINGLE_STREAM
) -> QuerySet[Build]:
    """Published builds of a revision in a scenario, with their files: by target, fastest first."""
    published = Build.objects.filter(graph__revision=revision, scenario=scenario, withdrawn_at=None)
    rows = with_relations(published)
    if target:
        rows = rows.filter(target=target)
    return rows.order_by("target__slug", "ratio", "id")


def with_relations(rows: QuerySet[Build]) -> QuerySet[Build]:
    """Builds with target, model, files and the record without its document."""
    files = BuildFile.objects.select_related("blob").order_by("path")
    rows = rows.select_related("target", "record", "graph__revision__mlmodel__namespace")
    # A record's document holds all raw samples, which no list of builds shows.
    rows = rows.defer("record__document", "record__envelope")
    return rows.prefetch_related(Prefetch("files", queryset=files))
