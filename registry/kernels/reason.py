"""Explains the time of a call by rules over numbers; each result has the numbers that it rests on.

If a number is missing, the rule returns "unknown" and names it; rules never guess.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from registry.kernels.dtypes import PRECISIONS
from registry.kernels.evidence import Evidence

State = Literal["applies", "not", "unknown"]
#: The part of an inspector that shows the numbers of a reason.
Place = Literal["facts", "loops", "asm", "schedule", "peers"]

#: Below this share of the roof, a search is worth while.
NEAR_ROOF = 0.7
#: A call whose share of time between calls is larger than this is too small for its overhead.
MOST_OVERHEAD = 0.20
#: Spread over median above which two runs can hardly be compared.
MOST_SPREAD = 0.20
_CONVERSION = re.compile(
    r"reorder|layout_?transform|^transpose\d*$|^convert|^cast|quantizelinear|^copy", re.IGNORECASE
)
_REFERENCE = re.compile(r"(^|_)(ref|reference|simple|naive)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reason:
    """An answer of one rule.

    Attributes:
        code: Stable name of the rule.
        title: The claim, as it is true or false.
        text: The numbers, in one or two sentences.
        place: Where the numbers are shown.
        saving: Share of a whole run that would be saved without this cause, at most; ``None`` if
            that does not follow from the numbers.
    """

    code: str
    state: State
    title: str
    text: str
    place: Place = "facts"
    saving: float | None = None


def is_changed(executed: str, model: str) -> bool:
    """Whether a call computed in another precision than the model's; integers that index and
    count are no precision."""
    return bool(model) and executed in PRECISIONS and executed != model


def is_conversion(operator: str) -> bool:
    """Whether an operator only changes the layout or the type of a tensor."""
    return bool(_CONVERSION.search(operator))


def reasons_of(evidence: Evidence) -> list[Reason]:
    """The answers of all rules: those that apply by what they would save, then the others."""
    answers = [rule(evidence) for rule in _RULES]
    states: Sequence[State] = ("applies", "unknown", "not")
    return sorted(answers, key=lambda one: (states.index(one.state), -(one.saving or 0.0)))


def _roof(evidence: Evidence) -> Reason:
    roof = evidence.roofline
    title = "Far from the roof of the device"
    if roof is None:
        text = "The work of this call or the measured roofs of the device are not known."
        return Reason("below_roof", "unknown", title, text)
    if roof.of_roof > 1:
        text = (
            f"At {number(roof.rate)}FLOP/s it is faster than main memory allows for "
            f"{number(roof.traffic)}B: its data comes from a cache."
        )
        return Reason("below_roof", "not", title, text)
    text = (
        f"{roof.of_roof:.0%} of the roof: {evidence.time_ns / 1e3:.4g} µs, "
        f"{roof.least_ns / 1e3:.3g} µs at the roof. "
        f"{number(roof.rate)}FLOP/s are {roof.of_peak:.1%} of the measured peak."
    )
    saving = evidence.share * (1 - roof.of_roof)
    return Reason(
        "below_roof", "applies" if roof.of_roof < NEAR_ROOF else "not", title, text, saving=saving
    )


def _memory(evidence: Evidence) -> Reason:
    roof = evidence.roofline
    title = "Memory bound"
    if roof is None:
        text = "The work of this call or the measured roofs of the device are not known."
        return Reason("memory_bound", "unknown", title, text)
    text = (
        f"{roof.intensity:.3g} operations per byte; the ridge of the device is at {roof.ridge:.3g}."
    )
    return Reason("memory_bound", "applies" if roof.is_memory_bound else "not", title, text)


def _vectors(evidence: Evidence) -> Reason:
    title, mix = "No vector instructions", evidence.mix
    if mix is None:
        if evidence.implementation and _REFERENCE.search(evidence.implementation):
            text = f"The runtime names a reference implementation: {evidence.implementation}."
            return Reason("unvectorised", "applies", title, text)
        text = "The runtime does not expose the code of its kernels."
        return Reason("unvectorised", "unknown", title, text, "asm")
    if not mix.packed and not mix.scalar:
        text = f"{mix.total} instructions, none of them floating-point arithmetic."
        return Reason("unvectorised", "unknown", title, text, "asm")
    widths = ", ".join(f"{count} of {bits} bits" for bits, count in mix.widths)
    text = (
        f"{mix.packed} vector and {mix.scalar} scalar arithmetic instructions"
        f"{f' ({widths})' if widths else ''}, {mix.fma} of them fused multiply-adds."
    )
    state: State = "applies" if not mix.packed else "not"
    return Reason("unvectorised", state, title, text, "asm")


def _schedule(evidence: Evidence) -> Reason:
    title = "Not tuned"
    if not evidence.is_schedulable:
        text = "The hub cannot search schedules for kernels of this runtime."
        return Reason("untuned", "not", title, text, "schedule")
    best = evidence.best_known_ns
    if evidence.is_scheduled:
        text = "It runs with a confirmed schedule."
        if best and best < 0.8 * evidence.time_ns:
            text += f" The same workload was confirmed at {best / 1e3:.4g} µs."
        return Reason("untuned", "not", title, text, "schedule")
    if best is None:
        text = "It runs with the compiler's default; no schedule was confirmed for its workload."
        return Reason("untuned", "applies", title, text, "schedule")
    saving = max(evidence.share * (1 - best / evidence.time_ns), 0.0) if evidence.time_ns else None
    text = (
        f"It runs with the compiler's default in {evidence.time_ns / 1e3:.4g} µs; the same "
        f"workload was confirmed at {best / 1e3:.4g} µs on this target."
    )
    return Reason("untuned", "applies", title, text, "schedule", saving)


def _conversion(evidence: Evidence) -> Reason:
    title = "Converts a layout or a type only"
    if is_conversion(evidence.operator):
        text = (
            f"{evidence.operator} moves data and computes nothing: {evidence.share:.1%} of a run."
        )
        return Reason("conversion", "applies", title, text, saving=evidence.share)
    return Reason("conversion", "not", title, f"{evidence.operator} computes.")


def _overhead(evidence: Evidence) -> Reason:
    title = "Too small for the overhead of a call"
    whole = evidence.time_ns + evidence.between_ns
    if evidence.between_ns <= 0 or whole <= 0:
        text = "The profile has no time between calls."
        return Reason("overhead", "unknown", title, text)
    part = evidence.between_ns / whole
    text = (
        f"{evidence.between_ns / 1e3:.3g} µs pass between two calls, on average: {part:.0%} of the "
        f"{whole / 1e3:.3g} µs of this call with its overhead."
    )
    return Reason("overhead", "applies" if part > MOST_OVERHEAD else "not", title, text)


def _precision(evidence: Evidence) -> Reason:
    title = "Runs in another precision than the model's"
    if not evidence.precision or not evidence.model_precision:
        text = "The runtime does not report the precision in which it computed."
        return Reason("precision", "unknown", title, text)
    text = f"Executed in {evidence.precision}; the model is {evidence.model_precision}."
    changed = is_changed(evidence.precision, evidence.model_precision)
    return Reason("precision", "applies" if changed else "not", title, text)


def _lanes(evidence: Evidence) -> Reason:
    title = "Innermost loops do not fill a vector"
    if not evidence.loops or not evidence.lanes:
        text = "The loops of this kernel or the vectors of the target are not known."
        return Reason("lanes", "unknown", title, text, "loops")
    inner = [loop for loop in evidence.loops if loop.kind == "vectorised"]
    if not inner:
        text = "No loop of this kernel is marked as vectorised; the compiler may still vectorise."
        return Reason("lanes", "unknown", title, text, "loops")
    odd = [one for one in inner if one.extent is None or one.extent % evidence.lanes]
    worst = max(odd or inner, key=lambda one: one.trips or 0)
    text = f"{worst.name} runs {worst.extent} times; a vector holds {evidence.lanes} numbers."
    return Reason("lanes", "applies" if odd else "not", title, text, "loops")


def _noise(evidence: Evidence) -> Reason:
    title = "Times vary"
    if evidence.time_ns <= 0:
        return Reason("noise", "unknown", title, "The profiler reports no time.")
    part = evidence.spread_ns / evidence.time_ns
    text = (
        f"Half of the runs are within {evidence.spread_ns / 1e3:.3g} µs of the median, "
        f"{part:.0%} of it."
    )
    return Reason("noise", "applies" if part > MOST_SPREAD else "not", title, text)


def number(value: float) -> str:
    """``32.1 G``, with a space before what follows."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} "


_RULES: tuple[Callable[[Evidence], Reason], ...] = (
    _roof, _memory, _vectors, _schedule, _conversion, _overhead, _precision, _lanes, _noise,
)  # fmt: skip
