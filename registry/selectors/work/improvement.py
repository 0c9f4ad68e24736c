"""Which models an idle device would improve: those with a gain on a related target that was never
tried here, and those whose users wait longest for them."""

from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q, Subquery

from registry.scenarios import Scenario
from registry.selectors.work.job import default_heads
from registry.states import (
    DeviceHealth,
    DeviceState,
    JobKind,
    JobState,
    RepositoryKind,
    ToleranceClass,
)
from registry.tables import BestBuild, Device, Job, MLModel, Revision, Target, Trial

#: Priority of searches on idle devices: they yield to every other search.
IMPROVEMENT_PRIORITY = 380
#: Priority of searches that try here what was fast on a related target: just before those.
KIN_PRIORITY = 370
#: Downloads that a model needs for each further search, as a factor.
_MORE_DOWNLOADS = 4
#: Most downloaded models that are looked at.
_CONSIDERED = 200
#: Newest gains on related targets that are looked at.
_NEWEST_GAINS = 200
#: Features of accelerators: builds for them run nowhere else.
_ACCELERATORS = frozenset({"cuda"})
_OPEN = Q(state__in=[JobState.QUEUED, JobState.LEASED])


@dataclass(frozen=True, slots=True)
class Improvement:
    """A search that an idle device might do.

    Attributes:
        earlier: Number of earlier searches of this revision by idle devices of the target.
        downloads: Of the model, so far.
        waiting_s: Downloads times the latency of the best exact build: seconds that users wait if
            each runs it once.
    """

    revision: Revision
    earlier: int
    downloads: int
    waiting_s: float


@dataclass(frozen=True, slots=True)
class KinGain:
    """A configuration that is faster than the defaults on a related target and untried here.

    Attributes:
        target: The related one.
        ratio: Latency there over that of the defaults.
    """

    revision: Revision
    target: Target
    ratio: float


def idle_devices(target: Target) -> int:
    """Number of devices of a target for which it has no job, now or later."""
    online = {"state": DeviceState.ACTIVE, "health": DeviceHealth.ONLINE}
    devices = Device.objects.filter(target=target, **online).count()
    return max(0, devices - Job.objects.filter(_OPEN, target=target).count())


def improvements(target: Target, *, most: int) -> list[Improvement]:
    """Searches worth doing on idle devices of a target, the most valuable first.

    The value of a search is the time for which users wait, halved by each earlier search: gains
    become rarer. The next search needs four times as many downloads as the one before, the first
    needs one.

    Args:
        most: Searches of a revision by idle devices at most.
    """
    searches = Job.objects.filter(revision=OuterRef("pk"), target=target, kind=JobKind.TUNE)
    best = BestBuild.objects.filter(
        mlmodel=OuterRef("mlmodel"), target=target, tolerance=ToleranceClass.EXACT
    )
    is_earlier = Q(jobs__target=target, jobs__priority=IMPROVEMENT_PRIORITY)
    # By the index of downloads: a hub may have a million models.
    downloaded = MLModel.objects.filter(kind=RepositoryKind.MODEL, downloads__gt=0)
    popular = downloaded.order_by("-downloads", "-pk").values("pk")[:_CONSIDERED]
    rows = (
        default_heads()
        .filter(Exists(searches), ~Exists(searches.filter(_OPEN)), mlmodel__in=popular)
        .annotate(p50_ns=Subquery(best.values("p50_ns")[:1]))
        .annotate(waiting_ns=F("mlmodel__downloads") * F("p50_ns"))
        .filter(waiting_ns__gt=0)
        .select_related("mlmodel__namespace")
        .order_by("-pk")
    )
    counts = Revision.objects.filter(pk__in=[row.pk for row in rows])
    counts = counts.annotate(earlier=Count("jobs", filter=is_earlier))
    earlier = dict(counts.values_list("pk", "earlier"))
    candidates = [
        Improvement(row, earlier[row.pk], row.mlmodel.downloads, row.waiting_ns / 1e9)
        for row in rows
    ]
    eligible = [
        each
        for each in candidates
        if each.earlier < most and each.downloads >= _MORE_DOWNLOADS**each.earlier
    ]
    return sorted(eligible, key=lambda each: -each.waiting_s / 2**each.earlier)


def kin_gains(target: Target) -> list[KinGain]:
    """Gains on related targets that a search on ``target`` may repeat, largest first, one of each
    revision.

    The revision was searched here before the gain was published, without a trial of its
    configuration. Related targets have the same architecture and accelerators.
    """
    kin = [each for each in Target.objects.exclude(pk=target.pk) if _are_kin(each, target)]
    searches = Job.objects.filter(
        kind=JobKind.TUNE, target=target, revision=OuterRef("build__graph__revision")
    )
    later = searches.filter(Q(created_at__gte=OuterRef("build__created_at")) | _OPEN)
    tried = Trial.objects.filter(
        target=target,
        job__revision=OuterRef("build__graph__revision"),
        config_sha256=OuterRef("build__config_sha256"),
    )
    newest = (
        BestBuild.objects.filter(target__in=kin, scenario=Scenario.SINGLE_STREAM, ratio__lt=1)
        .order_by("-build")
        .values("pk")[:_NEWEST_GAINS]
    )
    gains = (
        BestBuild.objects.filter(pk__in=newest, build__graph__revision__in=default_heads())
        .filter(Exists(searches), ~Exists(later), ~Exists(tried))
        .select_related("build__graph__revision__mlmodel__namespace", "target")
        .order_by("ratio", "-build")
    )
    largest: dict[int, KinGain] = {}
    for gain in gains:
        revision = gain.build.graph.revision
        largest.setdefault(revision.pk, KinGain(revision, gain.target, gain.ratio))
    return list(largest.values())


def _are_kin(one: Target, other: Target) -> bool:
    return (
        one.architecture == other.architecture
        and one.is_emulated == other.is_emulated
        and _ACCELERATORS.intersection(one.features) == _ACCELERATORS.intersection(other.features)
    )
