"""Reads of conversions, and of what can be converted."""

from collections.abc import Collection, Iterator
from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from registry.errors import NotFound
from registry.selectors.repository.contents import config_of, described_blobs, marking_paths
from registry.selectors.repository.revision import file_get
from registry.states import JobKind, JobState, RefKind, RepositoryKind
from registry.tables import Conversion, ConversionFile, File, Job, Ref, Revision

CONFIG = "config.json"
WEIGHTS_SUFFIX = ".safetensors"
#: Code of refusals by workers without a converter.
_MISSING = "converter_missing"
#: Codes of refusals that depend on the converter and its tools.
CONVERTER_CODES = frozenset(
    {
        *("not_convertible", _MISSING, "conversion_failed", "conversion_differs"),
        "weights_differ",
    }
)


def is_convertible(revision: Revision, paths: Collection[str]) -> bool:
    """Whether a revision without a network has weights and a configuration of ``transformers``.

    Args:
        paths: Of its networks and weights. Those in folders do not count.
    """
    if not any(path.endswith(WEIGHTS_SUFFIX) and "/" not in path for path in paths):
        return False
    return "model_type" in config_of(described_blobs(revision))


def refused_heads(before: datetime) -> QuerySet[Revision]:
    """Heads of default branches that a converter refused before a time, or at any time a worker
    without one, newest first, unless they were inspected otherwise since."""
    inspections = Job.objects.filter(revision=OuterRef("pk"), kind=JobKind.INSPECT)
    untried = Q(failure_code=_MISSING) | Q(ended_at__lt=before)
    refused = inspections.filter(untried, state=JobState.FAILED, failure_code__in=CONVERTER_CODES)
    later = inspections.exclude(untried, state=JobState.FAILED)
    return _heads().filter(Exists(refused), ~Exists(later)).order_by("-id")


def unconverted_heads() -> Iterator[Revision]:
    """Heads of default branches that can be converted and were never inspected, newest first: those
    published before the hub converted. Reads a file of each model that was never inspected."""
    inspections = Job.objects.filter(revision=OuterRef("pk"), kind=JobKind.INSPECT)
    for revision in _heads().filter(~Exists(inspections)).order_by("-id").iterator():
        if is_convertible(revision, marking_paths(revision, RepositoryKind.MODEL)):
            yield revision


def _heads() -> QuerySet[Revision]:
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=F("mlmodel__default_branch"))
    rows = Revision.objects.filter(pk__in=heads.values("revision"))
    return rows.filter(mlmodel__kind=RepositoryKind.MODEL).select_related("mlmodel__namespace")


def conversion_of(revision: Revision) -> Conversion | None:
    """The conversion of a revision; ``None`` without one."""
    return Conversion.objects.filter(revision=revision).first()


def conversion_files(revision: Revision) -> list[ConversionFile]:
    """The files of the revision's conversion with their blobs, by path; none without one."""
    rows = ConversionFile.objects.filter(conversion__revision=revision)
    return list(rows.select_related("blob").order_by("path"))


def has_file(revision: Revision, sha256: str) -> bool:
    """Whether a file of that digest was published in the revision, or converted from it."""
    if revision.files.filter(blob=sha256).exists():
        return True
    return ConversionFile.objects.filter(conversion__revision=revision, blob=sha256).exists()


def network_file_get(revision: Revision, path: str) -> File | ConversionFile:
    """The published or converted file at ``path``. Raises ``NotFound``: ``file_not_found``."""
    try:
        return file_get(revision, path)
    except NotFound:
        converted = next((file for file in conversion_files(revision) if file.path == path), None)
        if converted is None:
            raise
        return converted
