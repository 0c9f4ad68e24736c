"""Words that cross the wall between registry and engine are spelled the same on both sides."""

from typing import get_args

from hpcfair.measurement.types import Verdict
from registry import states
from workers.engine import types


def test_outcomes_agree() -> None:
    assert set(get_args(types.Outcome)) == set(states.TrialOutcome.values)


def test_verdicts_agree() -> None:
    assert set(get_args(Verdict)) == set(states.Verdict.values)


def test_failure_classes_are_outcomes() -> None:
    assert set(states.FailureClass.values) <= set(get_args(types.Outcome))
