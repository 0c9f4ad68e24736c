"""Agreement with the reference."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.measurement.types import Deviation, Timing
from hpcfair.precisions import PRECISIONS, Tolerance
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.numerics import OutputCheck, check, require, run_reference
from workers.engine.ports import Array
from workers.engine.testset import TestSet

NONE = Deviation(0.0, 0.0, 0.0, 1.0)


class Answers:
    """A session that gives prepared outputs in turn."""

    def __init__(self, *outputs: dict[str, Array]) -> None:
        self._outputs = iter(outputs)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:  # noqa: ARG002
        return next(self._outputs)

    def time(self, runs: int, warmup: int) -> Timing:
        raise NotImplementedError

    def rest(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def a_test_set(count: int, labels: Sequence[int] | None = None) -> TestSet:
    case: dict[str, Array] = {"x": np.ones(1, np.float32)}
    known = None if labels is None else np.array(labels)
    return TestSet((case,) * count, known, case, "random", 0)


def compare(reference: Array, output: Array) -> Deviation:
    return check(Answers({"y": output}), a_test_set(1), [{"y": reference}]).deviation


def test_equal_outputs_do_not_deviate() -> None:
    found = compare(np.array([1.0, -2.0]), np.array([1.0, -2.0]))
    assert found == Deviation(0.0, 0.0, 0.0, pytest.approx(1.0))


def test_the_figures_are_what_their_formulas_say() -> None:
    found = compare(np.array([3.0, 4.0]), np.array([3.0, 4.5]))
    assert found.max_absolute == 0.5
    assert found.max_relative == 0.5 / 4
    assert found.relative_l2 == pytest.approx(0.1)
    assert found.cosine == pytest.approx(27 / (5 * np.hypot(3, 4.5)))


def test_the_worst_output_counts_however_small_it_is() -> None:
    reference = {"boxes": np.full(1000, 100.0), "scores": np.array([0.01, 0.02])}
    outputs = {"boxes": reference["boxes"], "scores": np.array([0.02, 0.02])}
    found = check(Answers(outputs), a_test_set(1), [reference]).deviation
    assert found.max_relative == pytest.approx(0.5)


def test_all_test_inputs_count_together() -> None:
    reference = [{"y": np.array([4.0])}, {"y": np.array([3.0])}]
    session = Answers({"y": np.array([4.0])}, {"y": np.array([3.5])})
    found = check(session, a_test_set(2), reference).deviation
    assert found.relative_l2 == pytest.approx(0.1)
    assert found.max_relative == pytest.approx(0.5 / 4)


def test_discrete_outputs_deviate_by_the_share_that_differs() -> None:
    found = compare(np.array([1, 2, 3, 900]), np.array([1, 2, 3, 4]))
    assert found == Deviation(1.0, 0.25, 0.25, 0.75)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(0, 1))
def test_deviations_are_finite_and_grow_with_the_error(values: list[float], error: float) -> None:
    reference = np.array(values)
    near = compare(reference, reference + error)
    far = compare(reference, reference + 2 * error)
    assert all(np.isfinite([near.max_relative, near.relative_l2, near.cosine]))
    assert near.relative_l2 <= far.relative_l2
    assert near.max_absolute <= far.max_absolute


def test_zero_outputs_compare_by_absolute_error() -> None:
    zeros = np.zeros(4)
    assert compare(zeros, zeros) == NONE
    assert compare(zeros, zeros + 1e-9).relative_l2 < 0.01
    assert compare(zeros, zeros + 1.0).relative_l2 > 1


def test_nan_and_infinity_in_the_same_places_agree() -> None:
    alike = np.array([1.0, np.nan, np.inf, -np.inf])
    assert compare(alike, alike) == Deviation(0.0, 0.0, 0.0, pytest.approx(1.0))


@pytest.mark.parametrize(
    "output",
    [
        {"y": np.array([1.0, np.nan])},
        {"y": np.array([1.0, np.inf])},
        {"y": np.array([1.0])},
        {"y": np.array([[1.0, 2.0]])},
        {"z": np.array([1.0, 2.0])},
    ],
)
def test_another_kind_of_output_is_wrong(output: dict[str, Array]) -> None:
    with pytest.raises(WrongOutput):
        check(Answers(output), a_test_set(1), [{"y": np.array([1.0, 2.0])}])


@pytest.mark.parametrize(("reference", "output"), [(np.nan, 1.0), (np.inf, -np.inf), (np.inf, 1.0)])
def test_a_nan_or_infinity_of_the_reference_must_propagate(reference: float, output: float) -> None:
    with pytest.raises(WrongOutput):
        compare(np.array([reference, 1.0]), np.array([output, 1.0]))


def test_accuracy_is_the_share_of_right_classes() -> None:
    scores = {"y": np.array([[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]])}
    checked = check(Answers(scores), a_test_set(1, labels=[1, 0, 1]), [scores])
    assert checked.accuracy == pytest.approx(2 / 3)
    assert checked.samples == 3


@pytest.mark.parametrize("shape", [(3,), (3, 2, 2), (2, 2)])
def test_outputs_that_are_no_scores_have_no_accuracy(shape: tuple[int, ...]) -> None:
    outputs = {"y": np.ones(shape)}
    assert check(Answers(outputs), a_test_set(1, labels=[0, 0, 1]), [outputs]).accuracy is None


def test_the_reference_runs_on_every_test_input() -> None:
    outputs = [{"y": np.array([n])} for n in range(3)]
    assert run_reference(Answers(*outputs), a_test_set(3)) == outputs


# Other sizes, random inputs beside samples, NaN and infinity


def a_wide_test_set(source: Literal["samples", "random"] = "samples") -> TestSet:
    """One case, one extra input, one planted value."""
    case: dict[str, Array] = {"x": np.ones(1, np.float32)}
    return TestSet((case,), None, case, source, 0, (case,), (("NaN in x", case),))


def of(*values: float) -> dict[str, Array]:
    return {"y": np.array(values)}


class Refusing(Answers):
    """Refuses where no output is prepared."""

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        outputs = super().run(inputs)
        if not outputs:
            raise CandidateFailed("invalid", "not this size")
        return outputs


def test_what_the_reference_refuses_is_left_out() -> None:
    tests = a_wide_test_set()
    reference = run_reference(Refusing(of(1.0), {}, of(np.nan)), tests)
    assert reference[1] is None
    checked = check(Answers(of(1.0), of(np.nan)), tests, reference)
    assert (checked.sizes, checked.foreign, checked.lost) == (0, None, {})
    with pytest.raises(CandidateFailed):
        run_reference(Refusing({}), tests)


def test_another_shape_at_another_size_is_wrong() -> None:
    tests = a_wide_test_set()
    with pytest.raises(WrongOutput, match="shape"):
        check(Answers(of(1.0), of(1.0, 2.0)), tests, [of(1.0), of(1.0), None])


@pytest.mark.parametrize("tolerance", ["exact", "fp16", "bf16", "int8"])
def test_random_inputs_count_apart_from_samples_and_not_for_integers(tolerance: Tolerance) -> None:
    tests = a_wide_test_set()
    checked = check(Answers(of(1.0), of(2.0)), tests, [of(1.0), of(1.0), None])
    assert checked.deviation == Deviation(0.0, 0.0, 0.0, pytest.approx(1.0))
    assert checked.foreign is not None
    assert checked.foreign.max_absolute == 1.0
    if tolerance == "int8":
        require(checked, tolerance, None, None)
    else:
        with pytest.raises(WrongOutput, match="on random inputs"):
            require(checked, tolerance, None, None)


def test_without_samples_all_sizes_count_together() -> None:
    tests = a_wide_test_set("random")
    checked = check(Answers(of(1.0), of(2.0)), tests, [of(1.0), of(1.0), None])
    assert checked.deviation.max_absolute == 1.0
    assert (checked.foreign, checked.sizes) == (None, 1)


def planted(*values: float) -> OutputCheck:
    reference = [of(1.0, 1.0), None, of(np.nan, 1.0)]
    return check(Answers(of(1.0, 1.0), of(*values)), a_wide_test_set(), reference)


def test_nan_must_come_out_where_it_does_of_the_reference() -> None:
    alike, hidden, spread = planted(np.inf, 7.0), planted(0.0, 1.0), planted(np.nan, np.nan)
    # More of it is no harm: an implementation may be stricter than the reference.
    for fine in (alike, spread):
        assert fine.lost == {}
        require(fine, "exact", alike, None)
    with pytest.raises(WrongOutput, match="NaN in x, y: lost in 1 of 2 elements"):
        require(hidden, "bf16", alike, None)
    require(hidden, "int8", alike, None)


def test_what_the_baseline_loses_a_build_may_lose() -> None:
    hidden = planted(0.0, 1.0)
    require(hidden, "exact", hidden, None)
    # While the baseline itself is judged there is nothing to hold it against.
    require(hidden, "fp16", None, None)


def test_a_network_of_nan_alone_proves_nothing() -> None:
    with pytest.raises(ValueError, match="nothing but NaN"):
        run_reference(Answers(of(np.nan, np.inf)), a_test_set(1))
    integers = {"y": np.array([3])}
    assert run_reference(Answers(integers), a_test_set(1)) == [integers]


# Limits


def deviating(by: float) -> OutputCheck:
    return OutputCheck(Deviation(by, by, by, 1.0), None, 1)


def agrees(unit: float, tolerance: Tolerance) -> bool:
    """Whether a product of matrices rounded to ``unit`` passes beside the exact one."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((64, 256)), rng.standard_normal((256, 64))

    def rounded(values: Array) -> Array:
        return values * (1 + unit * rng.uniform(-1, 1, values.shape))

    deviation = compare(left @ right, rounded(left) @ rounded(right))
    try:
        require(OutputCheck(deviation, None, 1), tolerance, None, None)
    except WrongOutput:
        return False
    return True


@pytest.mark.parametrize(
    ("unit", "tolerance"),
    [(2.0**-24, "exact"), (2.0**-11, "fp16"), (2.0**-8, "bf16"), (2.0**-6, "int8")],
)
def test_each_class_passes_its_own_rounding_but_not_one_far_coarser(
    unit: float, tolerance: Tolerance
) -> None:
    assert agrees(unit, tolerance)
    assert not agrees(unit * 2**13 if tolerance == "exact" else unit * 2**6, tolerance)


def test_nothing_rounded_to_half_precision_passes_as_exact() -> None:
    assert not agrees(2.0**-11, "exact")


def test_limits_widen_from_class_to_class() -> None:
    for tight, wide in pairwise(PRECISIONS):
        assert tight.max_relative < wide.max_relative
        assert tight.relative_l2 < wide.relative_l2


def test_a_badly_conditioned_network_may_stray_as_far_as_its_own_baseline_does() -> None:
    with pytest.raises(WrongOutput, match="exact allows"):
        require(deviating(1e-3), "exact", None, None)
    require(deviating(1e-3), "exact", deviating(5e-4), None)


def test_accuracy_may_fall_by_a_hundredth_and_one_sample() -> None:
    def scoring(accuracy: float) -> OutputCheck:
        return OutputCheck(NONE, accuracy, 100)

    require(scoring(0.95), "int8", None, 0.96)
    require(scoring(0.941), "int8", None, 0.96)
    with pytest.raises(WrongOutput, match=r"accuracy is 0\.9300, the reference has 0\.9600"):
        require(scoring(0.93), "int8", None, 0.96)
