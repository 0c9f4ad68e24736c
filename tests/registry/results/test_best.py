"""Best builds read from the database; ``test_choice`` tests the rule."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hpcfair.choice import LoadRequest
from registry import schemas
from registry.errors import Invalid
from registry.selectors.results.best import (
    BuildChoice,
    FasterBuild,
    best_build,
    best_builds,
    best_ratios,
    largest_gains,
)
from registry.services.results.best import best_builds_update
from registry.services.results.record import record_add
from registry.states import Visibility
from registry.tables import Build, MLModel, Reproduction, Target
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


class Builds:
    """Adds builds of one network, and asks for the best."""

    def __init__(self, floor: Floor) -> None:
        self.floor = floor
        floor.tune()
        ticket = floor.claim()
        document = shopfloor.document(floor.revision, job=ticket.job_uuid)
        # All builds share it; the rule does not read records.
        self.record_id = record_add(
            job_uuid=ticket.job_uuid, fence=ticket.fence, document=document
        ).pk
        self.count = 0

    def add(self, ratio: float, target: Target | None = None, **columns: Any) -> Build:
        self.count += 1
        given = shopfloor.build(self.record_id, f"{self.count}", ratio=ratio) | columns
        del given["files"]
        return Build.objects.create(
            graph=self.floor.graph, target=target or self.floor.target, **given
        )

    def baseline(self, target: Target | None = None, **columns: Any) -> Build:
        return self.add(1.002, target, is_baseline=True, verdict="same", **columns)

    def ask(
        self, tolerance: str | float = "exact", least: float | None = None, **machine: Any
    ) -> BuildChoice:
        request = {
            "architecture": "x86-64",
            "features": ["avx2", "avx512f", "sse4"],
            "runtimes": {"onnxruntime": "1.31.1"},
        }
        limits = {"tolerance": tolerance, "min_accuracy": least}
        return best_build(self.floor.revision, LoadRequest(**limits, **request | machine))

    def settle(self) -> None:
        """Write the table of best builds, as the services do after each change."""
        best_builds_update(self.floor.revision.mlmodel)


@pytest.fixture
def builds() -> Builds:
    return Builds(shopfloor.floor())


def run_again(build: Build, *outcomes: str) -> None:
    for outcome in outcomes:
        Reproduction.objects.create(build=build, toolchain="0" * 64, outcome=outcome)


def test_the_fastest_build_is_chosen_and_the_others_are_listed(builds: Builds) -> None:
    baseline, slow, fast = builds.baseline(), builds.add(0.9), builds.add(0.7)
    choice = builds.ask()
    assert choice.build == fast
    assert choice.others == [slow, baseline]
    assert "0.700" in choice.reason


def test_each_column_that_the_rule_depends_on_is_read(builds: Builds) -> None:
    wide, _ = shopfloor.make_machine("x86-64-amx", name="amx", rank=99, features=("avx2", "amx"))
    builds.add(0.1, wide)
    builds.add(0.2, runtime="openvino")
    builds.add(0.3, tolerance="int8")
    builds.add(0.4, verdict="unstable")
    run_again(builds.add(0.5), "reproduced", "differs")
    fast = builds.add(0.6)
    builds.baseline()
    assert builds.ask().build == fast
    assert builds.ask(tolerance="int8").build.ratio == 0.3
    assert builds.ask(runtimes=["openvino"]).build.ratio == 0.2
    assert builds.ask(features=["avx2", "amx"]).build.ratio == 0.1
    assert builds.ask(architecture="arm64").build is None


def test_measured_errors_and_accuracies_are_read(builds: Builds) -> None:
    exact = builds.add(0.9, deviation={"relative_l2": 1e-6}, accuracy=0.98)
    int8 = builds.add(0.5, tolerance="int8", deviation={"relative_l2": 0.014}, accuracy=0.97)
    builds.baseline()
    assert builds.ask(0.02).build == int8
    assert builds.ask(0.01).build == exact
    assert builds.ask("int8", least=0.975).build == exact
    choice = builds.ask()
    assert choice.build == exact
    assert choice.looser == [FasterBuild(int8, {"tolerance": "int8"})]
    assert builds.ask(0.001).looser == [FasterBuild(int8, {"tolerance": 0.014})]
    assert builds.ask("int8").looser == []


@pytest.mark.parametrize("tolerance", ["fp16", "int8"])
def test_a_number_limits_the_error_on_samples_alone(builds: Builds, tolerance: str) -> None:
    deviation = {"relative_l2": 0.009, "random_relative_l2": 0.02}
    lowered = builds.add(0.5, tolerance=tolerance, deviation=deviation)
    builds.baseline(deviation={"relative_l2": 1e-6})
    assert builds.ask(0.01).build == lowered
    assert builds.ask(0.008).build != lowered


def test_a_least_accuracy_is_refused_where_none_is_measured(builds: Builds) -> None:
    builds.baseline()
    with pytest.raises(Invalid, match="accuracy of this model is not measured") as refusal:
        builds.ask("int8", least=0.9)
    assert refusal.value.code == "accuracy_not_measured"
    builds.add(0.5, accuracy=0.95)
    assert builds.ask("int8", least=0.9).build is not None


def test_builds_of_the_front_have_the_number_that_loads_them(builds: Builds) -> None:
    baseline = builds.baseline(deviation={"relative_l2": 3.01e-6})
    close = builds.add(0.7, tolerance="bf16", deviation={"relative_l2": 0.0104})
    builds.add(0.8, tolerance="bf16", deviation={"relative_l2": 0.02})
    fast = builds.add(0.5, tolerance="int8", deviation={"relative_l2": 0.1})
    builds.add(0.4, tolerance="int8")
    best = best_builds({builds.floor.graph.pk})
    assert best.limits == {baseline.pk: 3.1e-6, close.pk: 0.011, fast.pk: 0.1}
    for key, limit in best.limits.items():
        chosen = builds.ask(limit).build
        assert chosen is not None
        assert chosen.pk == key


def test_the_target_of_the_highest_rank_comes_first(builds: Builds) -> None:
    close, _ = shopfloor.make_machine(
        "x86-64-close", name="c", rank=90, features=("avx2", "avx512f")
    )
    fast, chosen = builds.add(0.3), builds.add(0.8, close)
    choice = builds.ask()
    assert (choice.build, choice.others) == (chosen, [fast])


def test_withdrawn_builds_are_not_chosen(builds: Builds) -> None:
    build = builds.add(0.5)
    Build.objects.update(withdrawn_at=build.created_at)
    choice = builds.ask()
    assert (choice.build, choice.others) == (None, [])
    assert "not tuned" in choice.reason
    builds.settle()
    assert best_builds({builds.floor.graph.pk}).of_class == set()
    assert largest_gains(None) == []


def test_an_uninspected_revision_has_no_builds(builds: Builds) -> None:
    builds.floor.graph.delete()
    choice = builds.ask()
    assert choice.build is None
    assert "not inspected" in choice.reason


def test_lists_show_the_best_ratio_for_each_target(builds: Builds) -> None:
    other, _ = shopfloor.make_machine("x86-64-avx2", name="laptop")
    builds.baseline()
    builds.add(0.8)
    builds.add(0.4, tolerance="int8")
    builds.baseline(other)
    revision = builds.floor.revision
    untuned = shopfloor.make_revision("bob/other")
    assert best_ratios([revision, untuned]) == {
        revision.pk: {shopfloor.SLUG: 0.8, "x86-64-avx2": 1.0}
    }
    assert best_ratios([revision], tolerance="int8")[revision.pk][shopfloor.SLUG] == 0.4


def test_of_equal_ratios_the_older_build_is_chosen(builds: Builds) -> None:
    first, _ = builds.add(0.8), builds.add(0.8)
    assert builds.ask().build == first
    assert schemas.sha256_of(first.candidate) == first.config_sha256


@pytest.mark.parametrize(
    ("outcome", "words"), [("differs", "gave other outputs"), ("failed", "did not run")]
)
def test_all_readers_exclude_a_build_that_was_not_reproduced(
    builds: Builds, outcome: str, words: str
) -> None:
    baseline, slow, fast = builds.baseline(), builds.add(0.9), builds.add(0.7)
    run_again(slow, "reproduced")
    run_again(fast, "reproduced", outcome)
    choice = builds.ask()
    assert (choice.build, choice.others) == (slow, [fast, baseline])
    assert "0.700" in choice.reason
    assert words in choice.reason
    builds.settle()
    revision = builds.floor.revision
    assert best_builds({builds.floor.graph.pk}).of_class == {slow.pk}
    assert best_ratios([revision]) == {revision.pk: {shopfloor.SLUG: 0.9}}
    assert largest_gains(None) == [slow]


def test_the_newest_reproduction_counts(builds: Builds) -> None:
    builds.baseline()
    fast = builds.add(0.7)
    run_again(fast, "failed", "reproduced")
    choice = builds.ask()
    assert choice.build == fast
    assert "again" not in choice.reason


def test_many_builds_take_a_few_queries(builds: Builds, django_assert_max_num_queries: Any) -> None:
    for number in range(9):
        run_again(builds.add(0.5 + number / 100), "differs")
    with django_assert_max_num_queries(5):
        assert builds.ask().build is None


def test_the_largest_gains_are_the_best_build_of_each_model_by_ratio(builds: Builds) -> None:
    other, third = (Builds(shopfloor.floor(name)) for name in ("bob/net", "carol/net"))
    builds.add(0.4, is_baseline=True)
    first = builds.add(0.5)
    for ratio in (0.51, 0.52, 0.53):
        builds.add(ratio)
    loose = builds.add(0.3, tolerance="int8")
    other.add(0.45, verdict="unstable")
    second, hidden = other.add(0.6), third.add(0.7)
    for each in (builds, other, third):
        each.baseline(shopfloor.make_machine("x86-64-avx2", name="laptop")[0])
        each.settle()
    assert largest_gains(None) == [first, second, hidden]
    assert largest_gains(None, limit=1) == [first]
    assert largest_gains(None, target=builds.floor.target) == [first, second, hidden]
    MLModel.objects.filter(name="net", namespace__name="carol").update(
        visibility=Visibility.PRIVATE
    )
    assert largest_gains(builds.floor.alice) == [first, second]
    assert largest_gains(None, tolerance="int8") == [loose, second, hidden]
    elsewhere = Target.objects.get(slug="x86-64-avx2")
    assert largest_gains(None, target=elsewhere) == []


def test_the_largest_gains_are_read_from_their_index(builds: Builds) -> None:
    for number in range(3):
        builds.add(0.5 + number / 10)
    builds.settle()
    with CaptureQueriesContext(connection) as queries:
        largest_gains(AnonymousUser(), limit=2)
    first = next(query["sql"] for query in queries if "ORDER BY" in query["sql"])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Of a table this small, the planner reads all rows.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("SET LOCAL enable_sort = off")
        explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {first}")
        plan = str(cursor.fetchall())
    assert "best_build_gain" in plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan
    assert "Sort" not in plan
