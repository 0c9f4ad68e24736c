"""A plan is fitted to a limit on the error, although errors scatter around the predicted ones."""

from collections.abc import Callable
from dataclasses import replace
from math import sqrt

from hypothesis import given
from hypothesis import strategies as st

from workers.backends.mixed.fitting import fit
from workers.backends.mixed.plan import StudiedLayer, predicted_error, predicted_seconds

LIMIT = 0.01
#: Predicted error of all layers in bfloat16: 0.01, in int8: 0.03.
LAYERS = [
    StudiedLayer(
        (str(number),),
        {"float32": 0.0, "bfloat16": 0.00125, "int8": 0.00375},
        {"float32": 1.0 + 0.001 * number, "bfloat16": 0.6, "int8": 0.3},
    )
    for number in range(64)
]


def scattered(factors: list[float]) -> tuple[Callable[[list[str]], tuple[str, float]], list[float]]:
    """A build whose errors are the predicted ones times a factor each; and the errors so far."""
    errors: list[float] = []

    def build(plan: list[str]) -> tuple[str, float]:
        factor = factors[min(len(errors), len(factors) - 1)]
        errors.append(factor * predicted_error(LAYERS, plan))
        return f"network {len(errors)}", errors[-1]

    return build, errors


def test_a_plan_that_uses_most_of_the_limit_ends_the_attempts() -> None:
    build, errors = scattered([1.0])
    fitted = fit(LIMIT, LAYERS, build)
    assert fitted is not None
    assert (len(errors), fitted.network) == (1, "network 1")
    assert 0.8 * LIMIT < fitted.error <= 0.9 * LIMIT


def test_without_a_plan_below_the_margin_the_closest_within_the_limit_counts() -> None:
    """As for ShuffleNet: each attempt had a little more than the margin allows."""
    build, errors = scattered([1.1 * 1.12**attempt for attempt in range(8)])
    fitted = fit(LIMIT, LAYERS, build)
    assert fitted is not None
    assert len(errors) > 4
    assert 0.9 * LIMIT < fitted.error == min(errors) <= LIMIT


def test_errors_of_int8_alone_do_not_cost_layers_their_bfloat16() -> None:
    """Layers in int8 err three times as much as predicted, and those in bfloat16 as predicted. A
    smaller budget for both would leave some in float32, although all may be in bfloat16."""
    half = 0.5 * LIMIT
    layers = [
        replace(layer, errors={**layer.errors, "bfloat16": half / 8, "int8": half / 4})
        for layer in LAYERS
    ]

    def build(plan: list[str]) -> tuple[str, float]:
        factors = {"int8": 3.0}
        squares = (
            (layer.errors[precision] * factors.get(precision, 1.0)) ** 2
            for layer, precision in zip(layers, plan, strict=True)
        )
        return "network", sqrt(sum(squares))

    fitted = fit(LIMIT, layers, build)
    assert fitted is not None
    bfloat16 = ["bfloat16"] * len(layers)
    assert predicted_seconds(layers, fitted.plan) < predicted_seconds(layers, bfloat16)


def test_no_plan_where_all_exceed_the_limit() -> None:
    build, errors = scattered([1e6])
    fitted = fit(LIMIT, LAYERS, build)
    assert fitted is None or set(fitted.plan) == {"float32"}
    assert len(errors) <= 8


@given(st.lists(st.floats(0.7, 1.4), min_size=8, max_size=8))
def test_what_is_chosen_keeps_to_the_limit_and_no_faster_plan_kept_to_the_margin(
    factors: list[float],
) -> None:
    build, errors = scattered(factors)
    plans: list[list[str]] = []
    fitted = fit(LIMIT, LAYERS, lambda plan: plans.append(plan) or build(plan))
    assert len(errors) <= 8
    if fitted is None:
        assert min(errors) > LIMIT
        return
    assert fitted.error <= LIMIT
    within_margin = [
        plan for plan, error in zip(plans, errors, strict=True) if error <= 0.9 * LIMIT
    ]
    if within_margin:
        least_s = min(predicted_seconds(LAYERS, plan) for plan in within_margin)
        assert predicted_seconds(LAYERS, fitted.plan) == least_s
