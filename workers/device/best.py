"""The best of a search's confirmed results, by the rule of :mod:`hpcfair.choice`."""

from hpcfair.choice import best_of
from hpcfair.outputlimits import BuildFacts
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.confirmation import ConfirmedResult
from workers.engine.search_result import SearchResult


def facts_of(result: SearchResult) -> list[BuildFacts]:
    """The facts of the rule for the baseline, then for each confirmed result."""
    return [
        BuildFacts(
            key=number,
            tolerance=confirmed.build.tolerance,
            ratio=confirmed.measurement.ratio.value,
            verdict=confirmed.measurement.verdict,
            is_baseline=confirmed is result.baseline,
            relative_error=confirmed.output_check.deviation.relative_l2,
            accuracy=confirmed.output_check.accuracy,
        )
        for number, confirmed in enumerate((result.baseline, *result.confirmed_results))
    ]


def best_result(
    result: SearchResult, tolerance: Tolerance | float, min_accuracy: float | None = None
) -> ConfirmedResult:
    """The best result within the limits of a user; the baseline if none is better."""
    best = best_of(facts_of(result), tolerance, min_accuracy)
    return result.confirmed_results[best.key - 1] if best and best.key else result.baseline


def best_results(result: SearchResult) -> list[ConfirmedResult]:
    """The baseline, then the best result of each tolerance class, strictest first, each once."""
    results = [result.baseline]
    for tolerance in TOLERANCES:
        best = best_result(result, tolerance)
        if all(best is not other for other in results):
            results.append(best)
    return results


def published_results(result: SearchResult) -> list[ConfirmedResult]:
    """The builds that are proved faster, then the fastest build of each further backend whose
    kernels' code can be read, for its profile; the rule never chooses those."""
    published = [
        result.confirmed_results[facts.key - 1]
        for facts in facts_of(result)
        if facts.is_proved_faster and not facts.is_baseline
    ]
    for one in sorted(result.confirmed_results, key=_ratio):
        backend = one.trial.candidate.backend
        # The baseline is published as well.
        others = {other.trial.candidate.backend for other in (result.baseline, *published)}
        if backend in result.readable - others:
            published.append(one)
    return published


def profiled_results(result: SearchResult) -> list[ConfirmedResult]:
    """:func:`best_results`, then the fastest published build of each further backend.

    The profiles of several backends show which of them runs a part of the network fastest.
    """
    results = best_results(result)
    backends = {one.trial.candidate.backend for one in results}
    for one in sorted(published_results(result), key=_ratio):
        if one.trial.candidate.backend not in backends:
            backends.add(one.trial.candidate.backend)
            results.append(one)
    return results


def _ratio(result: ConfirmedResult) -> float:
    return result.measurement.ratio.value
