"""All parts of a comparison, as pages, API and downloads show them."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry.selectors.access import Actor
from registry.selectors.analysis.comparison import (
    Comparison,
    ComparisonQuery,
    LimitAnswer,
    compare,
    meeting_limits,
)
from registry.selectors.analysis.groupdelta import GroupTable, group_table
from registry.selectors.analysis.measuredbuild import MeasuredBuild
from registry.selectors.analysis.outcome import OutcomeMatrix, outcome_matrix

#: Builds whose groups of nodes are compared; more columns cannot be read.
_MOST_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class ComparisonContents:
    """A comparison with its parts. ``answer`` is ``None`` without limits."""

    comparison: Comparison
    matrix: OutcomeMatrix
    groups: GroupTable
    answer: LimitAnswer | None


def comparison_view(actor: Actor, query: ComparisonQuery, *, cost: str) -> ComparisonContents:
    """Compare; ``cost`` is the metric by which the cheapest build within limits is chosen."""
    comparison = compare(actor, query)
    matrix = outcome_matrix(
        actor,
        comparison.graphs,
        comparison.builds,
        targets=query.targets,
        backends=query.backends,
    )
    groups = group_table(columns_of(comparison))
    answer = meeting_limits(comparison, cost) if query.is_limited else None
    return ComparisonContents(comparison, matrix, groups, answer)


def columns_of(comparison: Comparison) -> list[MeasuredBuild]:
    """The builds whose groups of nodes are compared: those that the query names, else the fastest
    of each backend on the target with most profiles, behind the default."""
    uuids = {text.lower() for text in comparison.query.builds}
    named = [each for each in comparison.builds if str(each.build.uuid) in uuids]
    if len(named) > 1:
        return named[:_MOST_COLUMNS]
    if len(comparison.graphs) != 1:
        return named
    return _of_each_backend([each for each in comparison.builds if each.has_profile])


def _of_each_backend(profiled: Sequence[MeasuredBuild]) -> list[MeasuredBuild]:
    by_target: dict[str, list[MeasuredBuild]] = {}
    for each in profiled:
        by_target.setdefault(each.build.target.slug, []).append(each)
    if not by_target:
        return []
    own = max(by_target.values(), key=len)
    best: dict[str, MeasuredBuild] = {}
    for each in sorted(own, key=lambda one: one.build.p50_ns):
        # The default is a column of its own.
        key = "" if each.build.is_baseline else each.backend
        best.setdefault(key, each)
    ordered = sorted(best.items(), key=lambda item: (item[0] != "", item[1].build.p50_ns))
    return [each for _, each in ordered][:_MOST_COLUMNS]
