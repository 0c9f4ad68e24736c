"""Deviation of outputs, and the limits of tolerance classes."""

from typing import Any

import numpy as np
import pytest

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.measurement.types import Deviation


def deviation(reference: dict[str, Any], outputs: dict[str, Any]) -> Deviation:
    comparison = OutputComparison()
    assert comparison.is_empty
    comparison.add(reference, outputs)
    return comparison.deviation()


def test_a_deviation_is_the_worst_over_all_outputs() -> None:
    reference = {"y": np.array([1.0, 2.0]), "z": np.array([1, 2])}

    found = deviation(reference, {"y": np.array([1.0, 2.1]), "z": np.array([1, 2])})

    assert found.max_absolute == pytest.approx(0.1)
    assert found.max_relative == pytest.approx(0.05)
    assert violation("int8", found) is None
    assert violation("exact", found) == "max_relative is 0.05, exact allows 0.0001"
    assert (
        violation("exact", found, None, " here") == "max_relative is 0.05 here, exact allows 0.0001"
    )
    # A network whose defaults deviate as much is badly conditioned; the build is not to blame.
    assert violation("exact", found, found) is None


def test_equal_nan_and_infinity_do_not_deviate() -> None:
    odd = np.array([1.0, np.nan, np.inf])
    assert deviation({"y": odd}, {"y": odd.copy()}) == Deviation(0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (np.array([1.0, np.nan]), "not finite"),
        (np.array([1.0]), r"shape \(1,\), not \(2,\)"),
        (np.array([1.0, np.inf]), "not finite"),
        (None, "output y is missing"),
    ],
)
def test_outputs_of_another_form_have_no_deviation(output: Any, reason: str) -> None:
    outputs = {} if output is None else {"y": output}
    with pytest.raises(OutputMismatch, match=reason):
        deviation({"y": np.array([1.0, 2.0])}, outputs)


def test_another_infinity_is_a_mismatch() -> None:
    with pytest.raises(OutputMismatch, match="another NaN or infinity"):
        deviation({"y": np.array([np.inf])}, {"y": np.array([-np.inf])})
