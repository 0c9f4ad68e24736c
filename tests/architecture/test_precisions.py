"""Precisions are named once, in ``hpcfair.precisions``; other tables agree with it."""

from typing import get_args

from hpcfair.precisions import PRECISIONS, TOLERANCES, Tolerance
from registry import schemas
from registry.states import ToleranceClass
from workers.backends.registry import BACKENDS


def test_each_precision_has_a_tolerance_class_of_its_own() -> None:
    assert get_args(Tolerance) == TOLERANCES
    assert len({each.name for each in PRECISIONS}) == len(PRECISIONS)


def test_limits_widen_with_the_order_of_the_table() -> None:
    for figure in ("max_relative", "relative_l2"):
        limits = [getattr(each, figure) for each in PRECISIONS]
        assert limits == sorted(limits)


def test_the_registry_stores_the_same_classes_in_the_same_order() -> None:
    assert tuple(ToleranceClass.values) == TOLERANCES


def test_benchmark_records_name_the_same_classes_in_the_same_order() -> None:
    assert tuple(schemas.bench_schema()["$defs"]["tolerance"]["enum"]) == TOLERANCES


def test_backends_compute_in_precisions_of_the_table() -> None:
    assert {name for each in BACKENDS.values() for name in each.precisions} <= {
        each.name for each in PRECISIONS
    }
