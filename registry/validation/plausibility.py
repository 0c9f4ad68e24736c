"""Finds results that no machine can have measured. Reads no tables.

These rules find contradictions, wrong units and wrong clocks. Samples can still be invented: trust
a record as far as you trust the owner of its device, or a second device that confirms it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

#: More multiply-accumulates per nanosecond than any machine performs: 10 of the fastest
#: accelerators at their lowest precision.
_MOST_MACS_PER_NS = 2e7
#: More operations per second than any device performs, and more bytes per second than any memory
#: of one device moves: 10 of the fastest accelerators, and ten times their memory.
_MOST_PER_SECOND = {"operations": 2e9 * _MOST_MACS_PER_NS, "bytes": 1e14}
#: Allowed difference between a reported duration and the hub's clock.
_SLACK_S = 60.0
#: Allowed difference between the clocks of a device and of the hub.
CLOCK_SLACK = timedelta(minutes=10)
#: Rounding of ratios that pass through other programs.
_ROUNDING = 1e-6
#: Rounding of times of calls to whole picoseconds.
_PAIRED = 1e-3
#: Relative slack, because an interval is resampled and may miss the ratio slightly.
_INTERVAL_SLACK = 0.05

Faults = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts of an attempt with which its results are compared.

    Attributes:
        elapsed_s: Seconds since its claim, by the hub's clock.
        earliest, latest: Limits of the time of its results, by the hub's clock.
        macs: Multiply-accumulates of one run of its network; ``None`` if unknown.
        device: Name of its device.
        graph_hash: Graph hash of its network.
        processor: Processor of its device, as registered; "" if unknown.
    """

    elapsed_s: float
    earliest: datetime
    latest: datetime
    macs: int | None
    device: str
    graph_hash: str
    processor: str = ""


def trial_faults(trial: dict[str, Any], context: Circumstances) -> Faults:
    """Yield columns of a trial with their faults. ``trial`` must match its schema."""
    if trial["duration_s"] > context.elapsed_s + _SLACK_S:
        yield "duration_s", f"is longer than the attempt, which began {context.elapsed_s:.0f} s ago"
    yield from _interval(trial, "")
    if trial["outcome"] == "measured" and trial.get("ratio") is None:
        yield "ratio", "is missing from a measured trial"
    if (p50_ns := trial.get("p50_ns")) is not None:
        yield from _speed(p50_ns, context, "p50_ns")
    blocks = trial.get("measurement", {}).get("blocks", [])
    yield from _samples(blocks, trial.get("ratio"), context, "measurement.blocks")


def record_faults(document: dict[str, Any], context: Circumstances) -> Faults:
    """Yield JSON paths of a benchmark record with their faults. ``document`` must match its
    schema."""
    yield from _clock(document["provenance"]["created_at"], context)
    identity, target = document["identity"], document["target"]
    if identity["kind"] == "reproduction":
        yield "$.identity.kind", "must be that of a search"
    if identity["graph_hash"] != context.graph_hash:
        yield "$.identity.graph_hash", "is not that of the job's network"
    if target["device"] != context.device:
        yield "$.target.device", f"should be {context.device}, which holds the job"
    if context.processor and target["processor"] != context.processor:
        yield "$.target.processor", f"should be {context.processor}, as the device was registered"
    comparison = document.get("comparison", {})
    yield from _interval(comparison, "$.comparison.")
    p50_ns = document["statistics"]["candidate"]["p50_ns"]
    per_sample_ns = p50_ns / document["protocol"].get("samples_per_run", 1)
    yield from _speed(per_sample_ns, context, "$.statistics.candidate")
    yield from _samples(
        document["samples"]["blocks"], comparison.get("ratio"), context, "$.samples.blocks"
    )


def times_faults(seconds: list[float], context: Circumstances, name: str) -> Faults:
    """The fault of raw times of calls that take longer in total than the attempt."""
    if sum(seconds) > context.elapsed_s + _SLACK_S:
        yield name, f"are more than the {context.elapsed_s:.0f} s since the attempt began"


def roof_faults(
    unit: str, work: float, rounds: list[dict[str, Any]], context: Circumstances, name: str
) -> Faults:
    """Yield the fault of a roof whose samples of ``work`` in ``unit`` (``operations`` or ``bytes``)
    are faster than any machine, or longer than the attempt."""
    samples_ns = [ns for each in rounds for ns in each["samples_ns"]]
    if sum(samples_ns) > (context.elapsed_s + _SLACK_S) * 1e9:
        yield name, f"took longer than the {context.elapsed_s:.0f} s since the attempt began"
    if work / min(samples_ns) * 1e9 > _MOST_PER_SECOND[unit]:
        yield name, f"are more {unit} per second than any device performs"


def comparison_faults(columns: dict[str, Any], context: Circumstances) -> Faults:
    """Faults of two schedules timed in turns. ``columns`` must match their schema."""
    seconds, best = columns.get("seconds", []), columns.get("best_seconds", [])
    yield from times_faults([*seconds, *best], context, "seconds")
    yield from _interval(columns, "")
    outcome, ratio = columns["outcome"], columns.get("ratio")
    if outcome not in {"measured", "pruned"}:
        if ratio is not None or seconds or best:
            yield "ratio", f"cannot be that of a schedule with the outcome {outcome}"
        return
    if ratio is None or columns.get("ratio_low") is None or columns.get("ratio_high") is None:
        yield "ratio", "is missing from a measured schedule"
    elif outcome == "pruned":
        if best or not seconds:
            yield "seconds", "of a pruned schedule are its own only"
    elif not seconds or len(seconds) != len(best):
        yield "best_seconds", "are not one for each of the seconds"
    else:
        ratios = [one / other for one, other in zip(seconds, best, strict=True)]
        if not min(ratios) * (1 - _PAIRED) <= ratio <= max(ratios) * (1 + _PAIRED):
            yield "ratio", f"{ratio:g} does not follow from the seconds"


def _interval(values: dict[str, Any], prefix: str) -> Faults:
    ratio, low, high = (values.get(name) for name in ("ratio", "ratio_low", "ratio_high"))
    if ratio is None or low is None or high is None:
        return
    is_around = low * (1 - _INTERVAL_SLACK) <= ratio <= high * (1 + _INTERVAL_SLACK)
    if low > high or not is_around:
        yield f"{prefix}ratio", f"{ratio:g} is not in its interval, {low:g} to {high:g}"
    verdict = values.get("verdict")
    if (verdict == "faster" and high >= 1) or (verdict == "slower" and low <= 1):
        yield f"{prefix}verdict", f"contradicts the interval, {low:g} to {high:g}"


def _speed(p50_ns: float, context: Circumstances, name: str) -> Faults:
    if context.macs and context.macs / max(p50_ns, 1) > _MOST_MACS_PER_NS:
        yield name, f"is too short for {context.macs:,} multiply-accumulates on any machine"


def _samples(
    blocks: list[dict[str, Any]], ratio: float | None, context: Circumstances, name: str
) -> Faults:
    """Faults of samples that take longer than the attempt, or from which the ratio does not
    follow."""
    sides = [(block.get("candidate_ns") or [], block.get("baseline_ns") or []) for block in blocks]
    total_ns = sum(sum(candidate) + sum(baseline) for candidate, baseline in sides)
    if total_ns > (context.elapsed_s + _SLACK_S) * 1e9:
        yield name, f"take longer than the {context.elapsed_s:.0f} s since the attempt began"
        return
    ratios = [median(one) / median(other) for one, other in sides if one and other]
    if ratio is None or not ratios:
        return
    if not min(ratios) * (1 - _ROUNDING) <= ratio <= max(ratios) * (1 + _ROUNDING):
        yield name, f"have ratios of {min(ratios):g} to {max(ratios):g}, not {ratio:g}"


def _clock(created_at: str, context: Circumstances) -> Faults:
    try:
        at = datetime.fromisoformat(created_at)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        yield "$.provenance.created_at", "is not a date and time with a time zone"
    elif not context.earliest - CLOCK_SLACK <= at <= context.latest + CLOCK_SLACK:
        extent = f"{context.earliest.isoformat()} and {context.latest.isoformat()}"
        fault = f"is not between {extent}: set the clock by the answers of the hub"
        yield "$.provenance.created_at", fault
