"""Candidates that a search measured without a conclusion: they may be faster than what it found."""

from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import Any

from hpcfair.measurement.ratio import MARGIN
from hpcfair.outputlimits import accepts
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.search_result import SearchResult
from workers.engine.trials import Measurement, Trial

#: Most candidates of a tolerance class that are measured again.
_PER_CLASS = 2
#: Gain below which a candidate of a search is not measured again.
_SMALLEST_GAIN = 0.02


def inconclusive_of(
    result: SearchResult, repeated: Sequence[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    """The candidates of a search whose measurements decide nothing, by class, then by ratio.

    They are the confirmed results of the verdict ``unstable``, and trials that a disturbed machine
    or a lack of time kept from confirmation, as far as they may be faster than the builds that are
    proved faster.

    Args:
        repeated: What an earlier search left inconclusive, if that was measured again. Those
            candidates that were not measured, or were disturbed again, stay inconclusive.

    Returns:
        ``config_sha256``, ``candidate``, ``tolerance``, ``ratio``, ``ratio_low`` and
        ``ratio_high`` of each, as JSON.
    """
    tried = {t.candidate.sha256 for t in result.trials if t.outcome != "infrastructure"}
    undecided = [
        _described(trial, measured)
        for trial, measured in _undecided(result, {one["config_sha256"] for one in repeated})
    ]
    undecided += [one for one in repeated if one["config_sha256"] not in tried]
    chosen: list[dict[str, Any]] = []
    for tolerance in TOLERANCES:
        fastest = _fastest_proved(result, tolerance)
        limit = fastest if repeated else (1 - _SMALLEST_GAIN) * min(fastest, 1.0)
        of_class = [
            one for one in undecided if one["tolerance"] == tolerance and one["ratio"] < limit
        ]
        chosen += sorted(of_class, key=lambda one: float(one["ratio"]))[:_PER_CLASS]
    return chosen


def decided_by(result: SearchResult) -> set[str]:
    """Digests of the configurations whose confirmation has a verdict, and of those whose trial was
    certainly not faster or computed wrong outputs."""
    confirmed = {
        each.trial.candidate.sha256
        for each in (result.baseline, *result.confirmed_results)
        if each.measurement.verdict != "unstable"
    }
    return confirmed | {trial.candidate.sha256 for trial in result.trials if _is_rejected(trial)}


def unproved_classes(
    result: SearchResult, inconclusive: Sequence[dict[str, Any]]
) -> set[Tolerance]:
    """Tolerance classes in which a search proves no build faster, or leaves some inconclusive:
    builds that earlier searches proved are still the best known ones there."""
    proved = {
        each.build.tolerance
        for each in result.confirmed_results
        if each.measurement.verdict == "faster"
    }
    return set(TOLERANCES) - proved | {one["tolerance"] for one in inconclusive}


def summary_of(gains: Sequence[str], inconclusive: Sequence[dict[str, Any]]) -> str:
    """What a search found, in a few words. ``gains`` are texts, one for each tolerance class."""
    if not inconclusive:
        return ", ".join(gains) or "the defaults are best"
    classes = dict.fromkeys(str(one["tolerance"]) for one in inconclusive)
    return ", ".join([*gains, f"inconclusive for {' and '.join(classes)}"])


def _undecided(
    result: SearchResult, repeated: Collection[str]
) -> Iterator[tuple[Trial, Measurement]]:
    decided = {result.baseline.trial.candidate.sha256}
    for each in result.confirmed_results:
        decided.add(each.trial.candidate.sha256)
        if each.measurement.verdict == "unstable" and _may_gain(each.measurement):
            yield each.trial, each.measurement
    for trial in result.trials:
        measured, key = trial.measurement, trial.candidate.sha256
        if measured is None or trial.outcome != "measured" or key in decided:
            continue
        is_disturbed = measured.verdict == "unstable" and measured.quality.get("disturbed")
        is_open = is_disturbed or any(trial is one for one in result.unconfirmed)
        if is_open and (measured.ratio.value < 1 or (key in repeated and _may_gain(measured))):
            yield trial, measured


def _is_rejected(trial: Trial) -> bool:
    measured = trial.measurement
    if trial.outcome == "wrong-output":
        return True
    if measured is None or not measured.is_believed or measured.quality.get("disturbed"):
        return False
    return measured.ratio.low >= 1


def _may_gain(measured: Measurement) -> bool:
    """Whether the interval leaves open that the candidate is considerably faster."""
    return measured.ratio.low < 1 - MARGIN


def _fastest_proved(result: SearchResult, tolerance: str) -> float:
    """The ratio of the fastest build that a user of a tolerance class accepts; infinite without."""
    return min(
        (
            each.measurement.ratio.value
            for each in result.confirmed_results
            if each.measurement.verdict == "faster" and accepts(tolerance, each.build.tolerance)
        ),
        default=inf,
    )


def _described(trial: Trial, measured: Measurement) -> dict[str, Any]:
    return {
        "config_sha256": trial.candidate.sha256,
        "candidate": trial.candidate.as_dict(),
        "tolerance": trial.tolerance,
        "ratio": measured.ratio.value,
        "ratio_low": measured.ratio.low,
        "ratio_high": measured.ratio.high,
    }
