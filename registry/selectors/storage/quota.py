"""Storage use of namespaces, and quotas of bytes, models, jobs and uploads."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from math import ceil

from django.conf import settings
from django.db.models import Q, Sum
from django.utils import timezone

from registry.selectors.storage.lfsfile import blobs_held
from registry.states import JobState, NamespaceKind
from registry.tables import Blob, File, ImportedProfile, Job, MLModel, Namespace, RemoteRun, User

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Usage:
    """Storage use of a namespace; ``quota_bytes`` is ``None`` without a limit."""

    used_bytes: int
    quota_bytes: int | None

    @property
    def free_bytes(self) -> int | None:
        """Bytes that may still be added, at least 0; ``None`` without a limit."""
        return None if self.quota_bytes is None else max(0, self.quota_bytes - self.used_bytes)

    @property
    def share(self) -> float:
        """Fraction of the quota in use; 0 without a limit."""
        return self.used_bytes / self.quota_bytes if self.quota_bytes else 0.0


def usage(namespace: Namespace) -> Usage:
    """Storage use of ``namespace``: the sum over its models and data sets.

    Bytes that several of them share are counted for each, so that counts are independent.
    """
    rows = Namespace.objects.filter(pk=namespace.pk)
    used = rows.values_list("used_bytes", flat=True).first() or 0
    return Usage(used, quota_of(namespace))


def usages() -> Iterator[tuple[Namespace, Usage]]:
    """Storage use of each namespace, the largest first."""
    for namespace in Namespace.objects.order_by("-used_bytes", "name").iterator():
        yield namespace, Usage(namespace.used_bytes, quota_of(namespace))


def quota_of(namespace: Namespace) -> int | None:
    """Quota of ``namespace`` in bytes; ``None`` for unlimited."""
    return _limit(namespace.quota_bytes, settings.QUOTA_BYTES)


def bytes_in(namespace: Namespace) -> int:
    """Total bytes of the models and data sets of ``namespace``, summed up anew."""
    return namespace.mlmodels.aggregate(bytes=Sum("used_bytes"))["bytes"] or 0


def bytes_of(mlmodel: MLModel) -> int:
    """Total bytes of the distinct blobs of all revisions of ``mlmodel`` and of its imported
    profiles, recounted."""
    files = File.objects.filter(series__mlmodel=mlmodel).values("blob")
    blobs = Blob.objects.filter(pk__in=files)
    size_bytes = blobs.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0
    profiles = _of_profiles(mlmodel)
    if not profiles:
        return size_bytes
    others = profiles - blobs_held(mlmodel, sorted(profiles)).keys()
    rows = Blob.objects.filter(pk__in=others)
    return size_bytes + (rows.aggregate(bytes=Sum("size_bytes"))["bytes"] or 0)


def bytes_added(mlmodel: MLModel, blobs: dict[str, int]) -> int:
    """Bytes by which ``mlmodel`` would grow with these blobs (digest to length in bytes)."""
    present = blobs_held(mlmodel, list(blobs)).keys() | _of_profiles(mlmodel)
    return sum(size_bytes for sha256, size_bytes in blobs.items() if sha256 not in present)


def _of_profiles(mlmodel: MLModel) -> set[str]:
    """Digests of the files of a model's imported profiles."""
    rows = ImportedProfile.objects.filter(graph__revision__mlmodel=mlmodel)
    pairs = rows.values_list("blob", "details")
    return {digest for pair in pairs for digest in pair if digest}


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many of something there are, and may be.

    Attributes:
        what: Name of the quota, such as ``models``: column ``quota_<what>``, and, with hyphens, the
            option of ``manage.py quota``.
        about: The same in words.
        limit: ``None``: unlimited.
    """

    what: str
    about: str
    used: int
    limit: int | None


def models_allowed(namespace: Namespace) -> Allowance:
    """Models and data sets of a namespace."""
    limit = _limit(namespace.quota_models, settings.QUOTA_MODELS)
    return Allowance("models", "models and data sets", namespace.mlmodels.count(), limit)


def jobs_allowed(person: User) -> Allowance:
    """Jobs of a person that wait or run."""
    used = Job.objects.filter(
        requested_by=person, state__in=[JobState.QUEUED, JobState.LEASED]
    ).count()
    limit = _limit(_personal(person).quota_jobs, settings.QUOTA_JOBS)
    return Allowance("jobs", "jobs that wait or run", used, limit)


def uploads_allowed(person: User) -> Allowance:
    """Uploads in parts that a person has begun and not completed."""
    limit = _limit(_personal(person).quota_uploads, settings.QUOTA_UPLOADS)
    return Allowance("uploads", "incomplete uploads", person.parts_begun.count(), limit)


def run_mib_allowed(person: User) -> Allowance:
    """MiB of the inputs and outputs of a person's runs on devices."""
    sizes = RemoteRun.objects.filter(owner=person).aggregate(
        inputs=Sum("inputs__size_bytes"), outputs=Sum("outputs__size_bytes")
    )
    used_bytes = sum(size or 0 for size in sizes.values())
    limit = _limit(_personal(person).quota_run_mib, settings.QUOTA_RUN_MIB)
    return Allowance("run_mib", "MiB of inputs and outputs of runs", _mib(used_bytes), limit)


def run_seconds_allowed(person: User) -> Allowance:
    """Seconds that a person's runs took on devices in the last day. A run that has not ended counts
    with its time limit."""
    now = timezone.now()
    rows = RemoteRun.objects.filter(owner=person)
    rows = rows.filter(Q(job__ended_at=None) | Q(job__ended_at__gt=now - _DAY))
    used_s = 0.0
    for limit_s, started_at, ended_at in rows.values_list(
        "limit_s", "job__started_at", "job__ended_at"
    ):
        if ended_at is None:
            used_s += limit_s
        elif started_at is not None:
            used_s += (ended_at - started_at).total_seconds()
    limit = _limit(_personal(person).quota_run_seconds, settings.QUOTA_RUN_SECONDS)
    return Allowance("run_seconds", "seconds of runs on devices in a day", ceil(used_s), limit)


def _mib(size_bytes: int) -> int:
    """MiB, rounded up."""
    return -(-size_bytes // 2**20)


def allowances(namespace: Namespace) -> list[Allowance]:
    """All that a namespace has a limit of, apart from bytes; see :func:`usage`."""
    person = User.objects.filter(username=namespace.name).first()
    counted = [models_allowed(namespace)]
    if namespace.kind == NamespaceKind.USER and person is not None:
        counted += [jobs_allowed(person), uploads_allowed(person)]
        counted += [run_mib_allowed(person), run_seconds_allowed(person)]
    return counted


def _personal(person: User) -> Namespace:
    return Namespace.objects.get(kind=NamespaceKind.USER, name=person.username)


def _limit(own: int | None, default: int | None) -> int | None:
    if own is None:
        return default
    return own if own >= 0 else None
