"""Builds of a revision compared for each target."""

import pytest

from registry.selectors.results.comparison import comparisons_of, inputs_of
from registry.services.results.build import builds_publish
from registry.services.results.record import record_add
from registry.services.work.attempt import job_succeed
from registry.states import ToleranceClass
from registry.tables import Build
from tests.costs import costs_of
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def publish(floor: shopfloor.Floor, **builds: dict[str, object]) -> list[Build]:
    """The default, and a build for each of ``builds``: its threads to its columns."""
    floor.tune()
    held = floor.claim()
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    columns = []
    defaults = {"is_baseline": True, "ratio": 1.0, "verdict": "same", "p50_ns": 4_000_000}
    for threads, more in {"all": defaults, **builds}.items():
        document = shopfloor.document(floor.revision, threads, job=held.job_uuid)
        record = record_add(**handle, document=document)
        columns.append(shopfloor.build(record.pk, threads, **more))
    made = builds_publish(**handle, builds=columns)
    job_succeed(**handle, result={})
    return made


def test_each_target_has_its_builds_by_latency_its_default_and_offers() -> None:
    floor = shopfloor.floor()
    default, exact, slow, fast = publish(
        floor,
        half={"ratio": 0.8, "p50_ns": 3_200_000, "deviation": {"relative_l2": 1e-6}},
        one={"ratio": 0.9, "p50_ns": 3_600_000, "tolerance": "fp16", "verdict": "faster"},
        two={
            "ratio": 0.4,
            "p50_ns": 1_600_000,
            "tolerance": "int8",
            "deviation": {"relative_l2": 0.0137},
        },
    )
    (comparison,) = comparisons_of(floor.graph)
    assert comparison.limits == {exact.pk: 1e-6, fast.pk: 0.014}
    assert comparison.prices == {fast.pk: 0.014}
    assert comparison.target == floor.target
    assert comparison.builds == [fast, exact, slow, default]
    assert comparison.default == default
    assert comparison.offers == [exact, fast]
    assert comparison.best == fast
    assert comparison.slower == [ToleranceClass.FP16]


def test_a_network_without_builds_has_no_comparison() -> None:
    assert comparisons_of(shopfloor.floor().graph) == []


def test_the_inputs_of_a_measurement_are_those_of_its_record() -> None:
    (default,) = publish(shopfloor.floor())
    (shape,) = inputs_of([default])[default.pk]
    assert str(shape) == "data_0 float32[1,3,224,224]"


def test_comparing_takes_as_many_statements_for_any_number_of_builds() -> None:
    few, many = shopfloor.floor("alice/few"), shopfloor.floor("alice/many")
    publish(few)
    publish(many, half={"ratio": 0.8}, one={"ratio": 0.7}, two={"ratio": 0.6})
    statements = []
    for floor in (few, many):
        with costs_of() as costs:
            inputs_of([b for one in comparisons_of(floor.graph) for b in one.builds])
        statements.append(costs.statements)
    assert statements[0] == statements[1] <= 3
