"""Reads of profiles of builds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.tables import Build, CallSite, ImportedCall, ImportedProfile, Profile

#: Largest relative gap between a profiled run and the sum of its call sites without a warning.
RECONCILED = 0.10
_GRADES = ("exact", "inferred", "shared")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Numbers of graph nodes by the best grade of their links to call sites.

    Attributes:
        exact: Nodes that a call site is known to compute.
        inferred: Nodes assigned to a call site by inference.
        shared: Nodes of a group that a call site computes.
        folded: Nodes that the compiler evaluated, without a call site.
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
    """The profile of a build. Raises ``NotFound``: ``profile_not_found``."""
    profile = Profile.objects.filter(build=build).first()
    if profile is None:
        detail = f"Build {build.uuid} has no profile."
        raise NotFound("profile_not_found", detail, "The best builds of a search have one.")
    return profile


def call_sites(profile: Profile) -> QuerySet[CallSite]:
    """Call sites in order of execution, each with its kernel and the kernel's code."""
    rows = profile.call_sites.select_related("kernel").prefetch_related("kernel__code")
    return rows.order_by("sequence")


def hottest(profile: Profile, count: int) -> QuerySet[CallSite]:
    """The ``count`` call sites with the longest median time."""
    rows = profile.call_sites.select_related("kernel").prefetch_related("kernel__code")
    return rows.order_by("-median_ns", "sequence")[:count]


def coverage(
    profile: Profile | ImportedProfile, sites: Sequence[CallSite] | Sequence[ImportedCall]
) -> Coverage:
    """Coverage of the graph by all call sites of a profile."""
    best: dict[int, int] = {}
    for site in sites:
        for node in site.nodes:
            grade = _GRADES.index(node["grade"])
            best[node["index"]] = min(best.get(node["index"], grade), grade)
    counts = Counter(best.values())
    return Coverage(counts[0], counts[1], counts[2], len(set(profile.folded) - best.keys()))


def precisions(sites: Sequence[CallSite]) -> dict[str, int]:
    """Executed precision to its nanoseconds, longest first; "" stands for unknown."""
    spent: dict[str, int] = {}
    for site in sites:
        spent[site.precision] = spent.get(site.precision, 0) + site.median_ns
    return dict(sorted(spent.items(), key=lambda item: -item[1]))


def summary(profile: Profile) -> dict[str, Any]:
    """Totals of a profile, for pages and the API.

    ``sum_ns`` is the sum over call sites, ``total_ns`` the time of the run; ``reconciled`` says
    that they differ by at most :data:`RECONCILED`.
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
