"""What deviation from the float32 reference a user accepts."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, Final

from hpcfair.errors import BadInput
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.typingnames import Self


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The limits of the outputs of a build.

    Attributes:
        tolerance: The laxest tolerance class, or a number: the largest relative error, 0 to 1.
        min_accuracy: The least accuracy on the model's labelled samples, 0 to 1; ``None``: any.
        is_default: Whether the user stated no limit.
    """

    tolerance: Tolerance | float = TOLERANCES[0]
    min_accuracy: float | None = None
    is_default: bool = True

    @classmethod
    def of(
        cls, tolerance: Tolerance | float | None = None, min_accuracy: float | None = None
    ) -> Self:
        """The limits that arguments state.

        Without ``tolerance`` they are those of ``exact``; with ``min_accuracy`` alone, any class is
        accepted. Raises BadInput if there is no such class, or a number is not from 0 to 1.
        """
        is_default = tolerance is None and min_accuracy is None
        if tolerance is None:
            tolerance = TOLERANCES[0 if min_accuracy is None else -1]
        elif not isinstance(tolerance, str):
            tolerance = _fraction("tolerance", tolerance, f"Or choose of {TOLERANCES}.")
        elif tolerance not in TOLERANCES:
            raise BadInput(
                f"There is no tolerance {tolerance!r}.",
                f"Choose of {TOLERANCES}, or give the largest relative error as a number.",
            )
        if min_accuracy is not None:
            min_accuracy = _fraction("min_accuracy", min_accuracy, "Write 0.97 for 97 %.")
        return cls(tolerance, min_accuracy, is_default)

    def to_json(self) -> dict[str, Any]:
        """The members of a request; an older hub knows no ``min_accuracy``."""
        least = {} if self.min_accuracy is None else {"min_accuracy": self.min_accuracy}
        return {"tolerance": self.tolerance, **least}

    def __str__(self) -> str:
        limit, least = self.tolerance, self.min_accuracy
        if least is not None and limit == TOLERANCES[-1]:
            # The laxest class is no limit.
            return f"accuracy at least {least:.2%}"
        text = f"outputs {limit}" if isinstance(limit, str) else f"relative error up to {limit:g}"
        return text if least is None else f"{text}, accuracy at least {least:.2%}"


#: The limits of a user who states none.
EXACT: Final = Acceptance()


def _fraction(name: str, value: object, hint: str) -> float:
    # A truth value is a number in Python.
    if not isinstance(value, bool) and isinstance(value, Real):
        number = float(value)
        if 0 <= number <= 1:
            return number
    raise BadInput(f"{name} is {value!r}, not a number from 0 to 1.", hint)
