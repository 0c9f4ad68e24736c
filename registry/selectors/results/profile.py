"""Reads of where a build's time goes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.tables import Build, CallSite, Profile

#: What the profiler's run and the sum of its parts may differ by before readers are warned.
RECONCILED = 0.10
_GRADES = ("exact", "inferred", "shared")


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many nodes of the graph call sites are known to compute, by the best grade of each.

    Attributes:
        nodes: Linked and folded ones together.
    """

    exact: int
    inferred: int
    shared: int
    folded: int

    @property
    def linked(self) -> int:
        return self.exact + self.inferred + self.shared

    @property
    def nodes(self) -> int:
        return self.linked + self.folded


def profile_of(build: Build) -> Profile:
    """The profile of a build.

    Raises:
        NotFound: ``profile_not_found``.
    """
    profile = Profile.objects.filter(build=build).first()
    if profile is None:
        detail = f"Build {build.uuid} has not been profiled."
        raise NotFound("profile_not_found", detail, "The best builds of a search are.")
    return profile


def call_sites(profile: Profile) -> QuerySet[CallSite]:
    """In order of execution, each with its kernel and the kinds of code kept of it."""
    rows = profile.call_sites.select_related("kernel").prefetch_related("kernel__code")
    return rows.order_by("sequence")


def hottest(profile: Profile, count: int) -> QuerySet[CallSite]:
    """The call sites that cost most."""
    rows = profile.call_sites.select_related("kernel").prefetch_related("kernel__code")
    return rows.order_by("-median_ns", "sequence")[:count]


def coverage(profile: Profile, sites: Sequence[CallSite]) -> Coverage:
    """Of all call sites of a profile."""
    best: dict[int, int] = {}
    for site in sites:
        for node in site.nodes:
            grade = _GRADES.index(node["grade"])
            best[node["index"]] = min(best.get(node["index"], grade), grade)
    found = Counter(best.values())
    return Coverage(found[0], found[1], found[2], len(set(profile.folded) - best.keys()))


def precisions(sites: Sequence[CallSite]) -> dict[str, int]:
    """Precision that really ran to the nanoseconds spent in it, most first; empty name: unknown."""
    spent: dict[str, int] = {}
    for site in sites:
        spent[site.precision] = spent.get(site.precision, 0) + site.median_ns
    return dict(sorted(spent.items(), key=lambda item: -item[1]))


def summary(profile: Profile) -> dict[str, Any]:
    """For pages and the API: what all call sites together say.

    ``sum_ns`` of the call sites beside ``total_ns`` of the run; ``reconciled`` where these agree.
    """
    sites = list(profile.call_sites.all())
    sum_ns = sum(site.median_ns for site in sites)
    gap = abs(profile.total_ns - sum_ns) / max(profile.total_ns, 1)
    return {
        "sum_ns": sum_ns,
        "total_ns": profile.total_ns,
        "gap_ns": profile.total_ns - sum_ns,
        "reconciled": gap <= RECONCILED,
        "count": len(sites),
        "coverage": coverage(profile, sites),
        "precisions": precisions(sites),
    }
