"""Limits of the outputs of builds: a tolerance class or the largest error, and an accuracy.

Every reader of a best build applies them: the hub, devices and clients.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Final

from hpcfair import reasons
from hpcfair.precisions import TOLERANCES
from hpcfair.scenarios import SINGLE_STREAM

_ORDER: list[str] = list(TOLERANCES)
#: Limits that are offered have two significant digits, accuracies three decimals.
_OFFERED_ERROR: Final = Context(prec=2, rounding=ROUND_CEILING)
_OFFERED_ACCURACY: Final = Decimal("0.001")


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """The properties of a build that the rule depends on.

    Attributes:
        key: Identifies the build; the older of two builds has the smaller key.
        tolerance: A value of :data:`hpcfair.precisions.TOLERANCES`.
        ratio: Latency over the baseline's; below 1 is faster.
        verdict: ``faster``, ``slower``, ``same`` or ``unstable``.
        relative_error: The error that a number limits: the largest relative L2 error over the test
            inputs, which are the model's samples where it has any; ``None`` if not measured.
        accuracy: On the model's labelled samples, 0 to 1; ``None`` if not measured.
        reproduction: Outcome of the newest reproduction; "" if there is none.
        is_trusted: Whether the device that measured it is trusted.
        scenario: What its ratio is of: see :mod:`hpcfair.scenarios`.
        backend: Shown in explanations.
    """

    key: int
    tolerance: str
    ratio: float
    verdict: str
    is_baseline: bool = False
    reproduction: str = ""
    runtime: str = ""
    backend: str = ""
    relative_error: float | None = None
    accuracy: float | None = None
    is_trusted: bool = True
    scenario: str = SINGLE_STREAM

    @property
    def is_proved_faster(self) -> bool:
        return not self.is_baseline and self.verdict == "faster"

    @property
    def fault(self) -> str:
        """A key of :data:`hpcfair.reasons.FAULTS`; "" for a build without a fault."""
        outcome = self.reproduction if self.reproduction in reasons.FAULTS else ""
        return outcome if self.is_trusted else reasons.UNTRUSTED


def accepts(tolerance: str, other: str) -> bool:
    """Whether a user who accepts the class ``tolerance`` accepts builds of the class ``other``."""
    return _ORDER.index(other) <= _ORDER.index(tolerance)


def is_accepted(
    build: BuildFacts, tolerance: str | float, min_accuracy: float | None = None
) -> bool:
    """Whether a build's outputs are within the limits of a request."""
    if min_accuracy is not None and (build.accuracy is None or build.accuracy < min_accuracy):
        return False
    if isinstance(tolerance, str):
        return accepts(tolerance, build.tolerance)
    return build.relative_error is not None and build.relative_error <= tolerance


def offered_error(error: float) -> float:
    """The smallest number of two significant digits that accepts an error."""
    return float(_OFFERED_ERROR.create_decimal(repr(error)))


def offered_accuracy(accuracy: float) -> float:
    """The largest number of three decimals that accepts an accuracy."""
    return float(Decimal(repr(accuracy)).quantize(_OFFERED_ACCURACY, ROUND_FLOOR))


def lower_accuracy(builds: Iterable[BuildFacts], min_accuracy: float | None) -> float | None:
    """The largest accuracy that brings a build, if it is below the least one of a request."""
    measured = [build.accuracy for build in builds if build.accuracy is not None]
    if min_accuracy is None or not measured:
        return None
    best = offered_accuracy(max(measured))
    return best if best < min_accuracy else None


def laxer_limits(
    builds: Collection[BuildFacts], tolerance: str | float, min_accuracy: float | None
) -> list[dict[str, Any]]:
    """What to state in place of the limits of a request, strictest first: ``tolerance`` as a class
    or a number, or ``min_accuracy``.

    A class is replaced by laxer classes, and a number by the errors of builds. The least accuracy
    is replaced only if all classes are accepted, so that nothing else excludes a build.
    """
    if not isinstance(tolerance, str):
        errors = (build.relative_error for build in builds)
        limits = sorted({offered_error(error) for error in errors if error is not None})
        return [{"tolerance": each} for each in limits if tolerance < each <= 1]
    if min_accuracy is None or tolerance != TOLERANCES[-1]:
        return [{"tolerance": each} for each in TOLERANCES if not accepts(tolerance, each)]
    accuracies = (build.accuracy for build in builds)
    floors = {offered_accuracy(accuracy) for accuracy in accuracies if accuracy is not None}
    return [{"min_accuracy": each} for each in sorted(floors, reverse=True) if each < min_accuracy]
