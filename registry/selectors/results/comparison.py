"""Published builds of a revision's network, compared for each target."""

from collections.abc import Collection
from dataclasses import dataclass

from hpcfair.precisions import PRECISION_OF
from registry.scenarios import Scenario
from registry.selectors.results.best import facts_of, limits_of
from registry.selectors.results.speed import (
    InputShape,
    classes_without_offer,
    offers_of,
)
from registry.states import ToleranceClass
from registry.tables import Build, Graph, Record, Target


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """The builds of one network on one target.

    Attributes:
        builds: Lowest latency first, each with its record and device.
        offers: Of these, what each tolerance class brings: see :func:`offers_of`.
        default: The baseline build; ``None`` if none is published.
        slower: Tolerance classes of which no build is the best.
        limits: Key of each build on the Pareto front to the number for which it is loaded, in the
            order of the numbers.
    """

    target: Target
    builds: list[Build]
    offers: list[Build]
    default: Build | None
    slower: list[ToleranceClass]
    limits: dict[int, float]

    @property
    def best(self) -> Build | None:
        """The build of the lowest ratio over all tolerance classes."""
        return self.offers[-1] if self.offers else None

    @property
    def prices(self) -> dict[int, float]:
        """Of :attr:`limits` those beyond the errors of the strictest class, which needs no number,
        and without the default."""
        exact = PRECISION_OF[ToleranceClass.EXACT].relative_l2
        default = self.default.pk if self.default else None
        return {key: one for key, one in self.limits.items() if one > exact and key != default}


def comparisons_of(graph: Graph) -> list[TargetComparison]:
    """A comparison for each target that the network has builds on, by slug, in two queries."""
    rows = Build.objects.filter(graph=graph, scenario=Scenario.SINGLE_STREAM, withdrawn_at=None)
    rows = rows.select_related("target", "record__device")
    rows = rows.defer("record__document", "record__envelope", "provenance")
    by_target: dict[Target, list[Build]] = {}
    for build in rows.order_by("target__slug", "p50_ns", "pk"):
        by_target.setdefault(build.target, []).append(build)
    facts = {one.key: one for one in facts_of([b for own in by_target.values() for b in own])}
    comparisons = []
    for target, builds in by_target.items():
        rows_of = {build.pk: build for build in builds}
        own = [facts[build.pk] for build in builds]
        comparisons.append(
            TargetComparison(
                target=target,
                builds=builds,
                offers=[rows_of[offer.key] for offer in offers_of(own)],
                default=next((build for build in builds if build.is_baseline), None),
                slower=classes_without_offer(own),
                limits=limits_of(own),
            )
        )
    return comparisons


def inputs_of(builds: Collection[Build]) -> dict[int, tuple[InputShape, ...]]:
    """Key of a build to the inputs that it was measured on, as its record states them."""
    rows = Record.objects.filter(pk__in=[build.record_id for build in builds])
    stated = dict(rows.values_list("pk", "document__identity__inputs"))
    return {
        build.pk: tuple(InputShape.from_json(one) for one in stated[build.record_id] or ())
        for build in builds
    }
