"""The decisions of a kernel's schedule in words."""

from dataclasses import dataclass
from typing import Any

from registry.tables import Kernel
from registry.traces import Sketch, TraceError

_POSTPROCESSING = "EnterPostproc"


@dataclass(frozen=True, slots=True)
class ScheduleDecision:
    """A decision of a schedule: what was decided, and the value in words."""

    instruction: int
    title: str
    text: str
    value: Any

    def part(self, result: int) -> str:
        """One result of the decision: ``level 2 of 4, 16``; "" if there is only one."""
        if not isinstance(self.value, list) or not 0 <= result < len(self.value):
            return ""
        return f"level {result + 1} of {len(self.value)}: {self.value[result]}"


def decisions_of(kernel: Kernel | None) -> list[ScheduleDecision]:
    """The decisions of a kernel's schedule, in its order; empty without a schedule, and for a trace
    of a format that is not known."""
    trace = kernel.schedule if kernel is not None else None
    if not isinstance(trace, list) or len(trace) != 2:
        return []
    try:
        instructions, values = trace
        kinds = [instruction[0] for instruction in instructions]
        end = kinds.index(_POSTPROCESSING) if _POSTPROCESSING in kinds else len(kinds)
        decisions = Sketch(instructions[:end]).decisions(
            [entry for entry in values if entry[0] < end]
        )
    except (TraceError, TypeError, ValueError, IndexError, KeyError):
        return []
    return [ScheduleDecision(one.instruction, one.title, one.text, one.value) for one in decisions]
