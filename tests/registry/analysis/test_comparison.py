"""Builds compared: figures, conditions, groups of nodes, failures as cells, limits, no leaks."""

from typing import Any

import pytest

from registry.selectors.analysis.comparison import Comparison, ComparisonQuery, compare
from registry.selectors.analysis.comparisondocument import build_rows, comparison_document
from registry.selectors.analysis.comparisonview import ComparisonContents, comparison_view
from registry.selectors.analysis.measuredbuild import differences
from registry.tables import Build, CallSite, MLModel, Target, User
from tests.costs import costs_of
from tests.registry import shopfloor
from tests.registry.analysis.comparisons import (
    DEFAULT_CALLS,
    FUSED_CALLS,
    failed_trial,
    published,
)
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

INT8 = {"ratio": 0.5, "p50_ns": 2_000_000, "tolerance": "int8", "accuracy": 0.97}
HALF = {"ratio": 0.8, "p50_ns": 3_200_000, "accuracy": 0.99}


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def view(**parts: Any) -> ComparisonContents:
    cost = parts.pop("cost", "latency")
    return comparison_view(parts.pop("actor", None), ComparisonQuery(**parts), cost=cost)


def of_model(name: str = "alice/squeezenet", **parts: Any) -> ComparisonContents:
    return view(models=(name,), **parts)


def uuids(comparison: Comparison) -> list[str]:
    return [str(each.build.uuid) for each in comparison.builds]


def test_figures_that_were_not_measured_are_not_zero(floor: Floor) -> None:
    energy = {"energy": {"method": "measured", "source": "rapl-package", "joules_per_run": 0.25,
                         "window_s": 1.0}}  # fmt: skip
    published(floor, half=HALF, document={"half": energy})
    fast, default = of_model().comparison.builds
    assert fast.figures["energy"] == 0.25
    assert fast.figures["accuracy"] == 0.99
    assert fast.figures["memory"] == 96_468_992
    assert default.figures["energy"] is None
    assert default.figures["accuracy"] is None
    assert default.build.is_baseline


def test_named_builds_keep_their_order_and_names_of_nothing_are_said(floor: Floor) -> None:
    default, half, int8 = published(floor, half=HALF, two=INT8)
    asked = (str(int8.uuid), str(default.uuid), "no-uuid", "0" * 32, str(int8.uuid))
    comparison = compare(None, ComparisonQuery(builds=asked))
    assert uuids(comparison) == [str(int8.uuid), str(default.uuid)]
    assert comparison.missing == ["no-uuid", "0" * 32]
    assert half.uuid not in uuids(comparison)


def test_filters_restrict_targets_backends_and_classes(floor: Floor) -> None:
    default, half, int8 = published(floor, half=HALF, two=INT8)
    cases: list[tuple[dict[str, tuple[str, ...]], list[Build]]] = [
        ({}, [int8, half, default]),
        ({"tolerances": ("int8",)}, [int8]),
        ({"tolerances": ("nonsense",)}, []),
        ({"targets": ("x86-64-avx512",)}, [int8, half, default]),
        ({"targets": ("elsewhere",)}, []),
        ({"backends": ("openvino",)}, []),
    ]
    for parts, expected in cases:
        shown = uuids(of_model(**parts).comparison)
        assert shown == [str(build.uuid) for build in expected], parts


def test_conditions_in_which_builds_differ_are_named(floor: Floor) -> None:
    other = {"target": {"processor": "Another Processor"}}
    published(floor, half=HALF, document={"half": other})
    unlike = differences(of_model().comparison.builds)
    assert unlike["processor"] == ["Another Processor", "Example Processor 8000"]
    assert unlike["threads"] == ["half of 2 cores", "all of 2 cores"]
    assert "inputs" not in unlike
    assert "batch" not in unlike


def test_groups_are_those_that_no_build_divides_by_what_they_decide(floor: Floor) -> None:
    published(floor, half=HALF, calls={"all": DEFAULT_CALLS, "half": FUSED_CALLS})
    groups = of_model().groups
    # Without names, the default comes first.
    assert [each.build.is_baseline for each in groups.builds] == [True, False]
    first, second = groups.groups
    assert first.group.nodes == (0, 1)
    assert first.times_ns == (70_000, 20_000)
    assert first.deltas_ns == (0, -50_000)
    assert first.precisions == ("float32", "bfloat16")
    assert first.is_mixed
    assert first.sequences == (0, 0)
    assert first.fastest == 1
    assert second.group.nodes == (2,)
    assert not second.is_mixed
    assert second.fastest == 0
    assert groups.totals_ns == [100_000, 51_000]
    assert groups.wins == [1, 1]


def test_a_build_without_a_usable_profile_is_left_out_and_said(floor: Floor) -> None:
    default, half, int8 = published(
        floor, half=HALF, two=INT8, calls={"all": DEFAULT_CALLS, "half": FUSED_CALLS}
    )
    names = tuple(str(build.uuid) for build in (default, half, int8))
    groups = view(builds=names).groups
    assert len(groups.groups) == 2
    assert groups.excluded == (
        "onnxruntime int8: it has no profile; the best builds of a search are profiled",
    )
    CallSite.objects.filter(profile__build=half).update(median_ns=10**19 // 2)
    groups = view(builds=names).groups
    assert groups.groups == []
    assert "At least two" in groups.refusal
    assert "times that no run can take" in groups.excluded[0]


def test_one_build_and_different_networks_have_no_groups(floor: Floor) -> None:
    default, _ = published(floor, half=HALF, calls={"all": DEFAULT_CALLS, "half": FUSED_CALLS})
    assert "at least two builds" in view(builds=(str(default.uuid),)).groups.refusal
    other = shopfloor.floor("alice/other")
    other_default, _ = published(other, half=HALF, calls={"all": DEFAULT_CALLS})
    refusal = view(builds=(str(default.uuid), str(other_default.uuid))).groups.refusal
    assert "different network files" in refusal


def test_failures_are_cells_with_their_reason(floor: Floor) -> None:
    trials = (
        failed_trial(1, "openvino", failure_detail="Segmentation\n fault"),
        failed_trial(2, "openvino", "timeout", failure_detail="300 s are over"),
        failed_trial(3, "tvm", "invalid", failure_detail="no converter for LSTM"),
        shopfloor.trial(4, candidate={"backend": "tvm", "options": {}},
                        config_sha256=shopfloor.schemas.sha256_of(
                            {"backend": "tvm", "options": {}})),
    )  # fmt: skip
    published(floor, trials=trials, half=HALF)
    matrix = of_model().matrix
    cells = {
        column.backend: cell
        for column, cell in zip(matrix.columns, matrix.rows[0].cells, strict=True)
    }
    assert cells["openvino"].reason == "timed out: 2 trials"
    assert cells["openvino"].detail == "300 s are over"
    assert cells["openvino"].is_failure
    assert cells["tvm"].reason == "no gain: 1 trial"
    best = cells["onnxruntime"].best
    assert best is not None
    assert best.build.p50_ns == 3_200_000


def test_means_are_geometric_and_state_their_number(floor: Floor) -> None:
    published(floor, half=HALF)
    other = shopfloor.floor("alice/other")
    published(other, half=HALF | {"ratio": 0.2, "p50_ns": 800_000})
    third = shopfloor.floor("alice/third")
    assert third
    matrix = view(models=("alice/squeezenet", "alice/other", "alice/third")).matrix
    (mean,) = matrix.means
    assert mean.ratio == pytest.approx((0.8 * 0.2) ** 0.5)
    assert mean.networks == 2
    assert matrix.rows[2].cells[0].reason == "not tried"


def test_the_cheapest_within_limits_has_an_evaluated_accuracy(floor: Floor) -> None:
    _, half, int8 = published(floor, half=HALF, two=INT8)
    answer = of_model(accuracy=0.98, latency_ns=5e6).answer
    assert answer is not None
    assert answer.cheapest is not None
    assert answer.cheapest.build == half
    assert answer.unevaluated == 1
    loose = of_model(accuracy=0.9, latency_ns=5e6).answer
    assert loose is not None
    assert [each.build for each in loose.fitting] == [int8, half]
    none = of_model(accuracy=0.98, latency_ns=1e6).answer
    assert none is not None
    assert none.cheapest is None
    assert of_model().answer is None


def test_a_build_without_the_figure_of_the_cost_is_not_the_cheapest(floor: Floor) -> None:
    energy = {"energy": {"method": "measured", "source": "x", "joules_per_run": 9.0,
                         "window_s": 1.0}}  # fmt: skip
    _, half, int8 = published(floor, half=HALF, two=INT8, document={"half": energy})
    answer = of_model(latency_ns=5e6, cost="energy").answer
    assert answer is not None
    assert answer.cheapest is not None
    assert answer.cheapest.build == half
    assert answer.fitting[1].build == int8


def test_emulated_speeds_meet_no_limit(floor: Floor) -> None:
    published(floor, half=HALF)
    Target.objects.update(is_emulated=True)
    answer = of_model(latency_ns=5e6).answer
    assert answer is not None
    assert answer.fitting == []
    assert answer.emulated == 2


def test_private_models_look_like_none(floor: Floor) -> None:
    secret = shopfloor.floor("bob/secret", private=True)
    trial = failed_trial(1, "openvino", failure_detail="secret text")
    default, _ = published(secret, trials=(trial,), half=HALF)
    published(floor, half=HALF)
    alice = User.objects.get(username="alice")
    asked = ComparisonQuery(
        builds=(str(default.uuid),), models=("bob/secret", "bob/none", "alice/squeezenet")
    )
    shown = comparison_view(alice, asked, cost="latency")
    assert shown.comparison.missing == [str(default.uuid), "bob/secret", "bob/none"]
    assert {each.mlmodel.full_name for each in shown.comparison.builds} == {"alice/squeezenet"}
    document = comparison_document(shown.comparison, shown.matrix, shown.groups, shown.answer)
    assert "secret text" not in str(document)
    bob = comparison_view(User.objects.get(username="bob"), asked, cost="latency")
    assert bob.comparison.missing == ["bob/none"]


def test_a_model_without_an_inspected_network_is_said() -> None:
    shopfloor.make_revision("alice/empty")
    assert MLModel.objects.count() == 1
    comparison = compare(None, ComparisonQuery(models=("alice/empty", "alice/empty@nowhere")))
    assert comparison.without_network == ["alice/empty"]
    assert comparison.missing == ["alice/empty@nowhere"]


def test_rows_hold_every_figure_and_empty_cells(floor: Floor) -> None:
    published(floor, half=HALF)
    header, *rows = build_rows(of_model().comparison)
    assert len({len(row) for row in [header, *rows]}) == 1
    half = dict(zip(header, rows[0], strict=True))
    assert half["latency_ns"] == 3_200_000
    assert half["energy_joules"] is None
    assert half["mlmodel"] == "alice/squeezenet"


def test_comparing_takes_as_many_statements_for_any_number_of_builds(floor: Floor) -> None:
    published(floor, half=HALF)

    def statements() -> int:
        with costs_of() as costs:
            of_model()
        return costs.statements

    few = statements()
    published(floor, half=HALF, one=INT8, two=INT8 | {"p50_ns": 1_900_000})
    assert len(of_model().comparison.builds) == 4
    assert statements() == few
