"""Offers to people: what each tolerance class brings."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.choice import best_of
from hpcfair.outputlimits import BuildFacts, accepts
from registry.selectors.results.speed import (
    InputShape,
    batch_of,
    classes_without_offer,
    offers_of,
)
from registry.states import ReproductionOutcome, ToleranceClass, Verdict

DEFAULT = BuildFacts(0, "exact", 1.0, "same", is_baseline=True)


def builds_of(rows: list[tuple[str, float, str, str]]) -> list[BuildFacts]:
    builds = [
        BuildFacts(key, tolerance, ratio, verdict, reproduction=reproduction)
        for key, (tolerance, ratio, verdict, reproduction) in enumerate(rows, start=1)
    ]
    return [DEFAULT, *builds]


rows = st.tuples(
    st.sampled_from(ToleranceClass.values),
    st.floats(0.1, 3.0),
    st.sampled_from(Verdict.values),
    st.sampled_from(["", *ReproductionOutcome.values]),
)
networks = st.lists(rows, max_size=12).map(builds_of)
#: Networks without two builds of the same ratio.
untied = st.lists(rows, max_size=12, unique_by=lambda row: row[1]).map(builds_of)


@given(networks)
def test_a_user_who_accepts_a_class_gets_the_last_offer_within_it(builds: list[BuildFacts]) -> None:
    offers = offers_of(builds)
    for tolerance in ToleranceClass:
        within = [offer for offer in offers if accepts(tolerance, offer.tolerance)]
        assert within[-1] == best_of(builds, tolerance)


@given(untied)
def test_each_offer_is_of_a_laxer_class_and_faster_than_the_one_before(
    builds: list[BuildFacts],
) -> None:
    offers = offers_of(builds)
    order = [list(ToleranceClass).index(ToleranceClass(offer.tolerance)) for offer in offers]
    assert order == sorted(set(order))
    ratios = [offer.ratio for offer in offers if not offer.is_baseline]
    assert ratios == sorted(set(ratios), reverse=True)
    assert all(offer.is_baseline or not offer.fault for offer in offers)


@pytest.mark.parametrize(
    ("older", "newer", "offered"),
    [("exact", "int8", [1]), ("int8", "exact", [2, 1]), ("int8", "int8", [0, 1])],
)
def test_of_two_builds_of_the_same_ratio_each_class_offers_the_older(
    older: str, newer: str, offered: list[int]
) -> None:
    builds = builds_of([(older, 0.5, "faster", ""), (newer, 0.5, "faster", "")])
    assert [offer.key for offer in offers_of(builds)] == offered


@given(networks)
def test_published_classes_are_offered_or_named(builds: list[BuildFacts]) -> None:
    offered = {offer.tolerance for offer in offers_of(builds)}
    rest = set(classes_without_offer(builds))
    assert offered | rest == {build.tolerance for build in builds}
    assert not offered & rest


@pytest.mark.parametrize(
    ("shape", "declared", "batch"),
    [
        ((8, 3, 32, 32), ["N", 3, 32, 32], 8),
        ((1, 3, 224, 224), [1, 3, 224, 224], 1),
        ((16, 3), [16, 3], None),
        ((1,), [1], None),
        ((5,), ["N"], 5),
        ((), [], None),
    ],
)
def test_the_batch_size_is_a_leading_dimension_that_is_open_or_one(
    shape: tuple[int, ...], declared: list[Any], batch: int | None
) -> None:
    inputs = [InputShape("x", "float32", shape)]
    assert batch_of(inputs, [{"name": "x", "dtype": "float32", "shape": declared}]) == batch


def test_without_inputs_there_is_no_batch_size() -> None:
    assert batch_of([], []) is None
    assert batch_of([InputShape("x", "float32", (1, 2))], []) is None


def test_an_input_reads_like_a_declaration() -> None:
    entry = {"name": "x", "dtype": "float32", "shape": [1, 3], "distribution": "normal"}
    assert str(InputShape.from_json(entry)) == "x float32[1,3]"
