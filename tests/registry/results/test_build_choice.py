"""Which build a machine should load: each branch of the rule."""

from typing import Any

import pytest

from registry import schemas
from registry.selectors.results.build import (
    BuildChoice,
    best_build,
    best_builds,
    best_of,
    best_per_target,
    best_ratios,
)
from registry.selectors.search.hub import fastest_builds
from registry.services.results.record import record_add
from registry.tables import Build, Reproduction, Target
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

MACHINE = {
    "architecture": "x86-64",
    "features": {"avx2", "avx512f", "sse4"},
    "runtimes": {"onnxruntime": "1.31.1"},
}


@pytest.fixture
def floor() -> Floor:
    floor = shopfloor.floor()
    floor.tune()
    return floor


@pytest.fixture
def record_id(floor: Floor) -> str:
    """A record to hang builds on; the rule does not read it."""
    ticket = floor.claim()
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    return record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document).pk


@pytest.fixture
def shelf(floor: Floor, record_id: str) -> "Shelf":
    return Shelf(floor, record_id)


class Shelf:
    """Puts builds on the shelf and asks for one."""

    def __init__(self, floor: Floor, record_id: str) -> None:
        self.floor = floor
        self.record_id = record_id
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

    def ask(self, tolerance: str = "exact", **machine: Any) -> BuildChoice:
        return best_build(self.floor.revision, tolerance=tolerance, **MACHINE | machine)


def test_the_fastest_build_is_chosen_and_the_others_are_told(shelf: Shelf) -> None:
    baseline, slow, fast = shelf.baseline(), shelf.add(0.9), shelf.add(0.7)
    choice = shelf.ask()
    assert choice.build == fast
    assert choice.others == [slow, baseline]
    assert "0.700" in choice.reason


@pytest.mark.parametrize("verdict", ["slower", "same", "unstable"])
def test_what_is_not_proven_faster_yields_to_the_baseline(shelf: Shelf, verdict: str) -> None:
    baseline, doubtful = shelf.baseline(), shelf.add(0.5, verdict=verdict)
    choice = shelf.ask()
    assert (choice.build, choice.others) == (baseline, [doubtful])
    assert "nothing" in choice.reason


def test_a_baseline_that_seems_faster_than_itself_is_no_winner(shelf: Shelf) -> None:
    shelf.add(0.4, is_baseline=True, verdict="faster")
    fast = shelf.add(0.9)
    assert shelf.ask().build == fast


@pytest.mark.parametrize(
    ("asked", "expected"), [("exact", 0.9), ("fp16", 0.8), ("bf16", 0.7), ("int8", 0.6)]
)
def test_a_laxer_wish_accepts_all_stricter_classes(
    shelf: Shelf, asked: str, expected: float
) -> None:
    shelf.baseline()
    for ratio, tolerance in [(0.9, "exact"), (0.8, "fp16"), (0.7, "bf16"), (0.6, "int8")]:
        shelf.add(ratio, tolerance=tolerance)
    choice = shelf.ask(asked)
    assert choice.build is not None
    assert choice.build.ratio == expected
    assert all(build.ratio >= expected for build in choice.others)


def test_a_stricter_build_wins_where_it_is_faster(shelf: Shelf) -> None:
    fast = shelf.add(0.5)
    shelf.add(0.6, tolerance="int8")
    assert shelf.ask("int8").build == fast


def test_the_closest_target_comes_first_even_if_another_claims_more(shelf: Shelf) -> None:
    close, _ = shopfloor.make_machine(
        "x86-64-close", name="c", rank=90, features=("avx2", "avx512f")
    )
    fast = shelf.add(0.3)
    chosen = shelf.add(0.8, close)
    choice = shelf.ask()
    assert (choice.build, choice.others) == (chosen, [fast])


def test_a_close_target_with_nothing_to_load_gives_way(shelf: Shelf) -> None:
    close, _ = shopfloor.make_machine("x86-64-close", name="c", rank=90)
    shelf.baseline(close, runtime="openvino")
    doubtful = shelf.add(0.2, close, verdict="unstable")
    chosen = shelf.add(0.8)
    choice = shelf.ask()
    assert (choice.build, choice.others) == (chosen, [doubtful])


def test_a_target_whose_features_the_machine_lacks_is_passed_over(shelf: Shelf) -> None:
    wide, _ = shopfloor.make_machine("x86-64-amx", name="amx", rank=99, features=("avx2", "amx"))
    shelf.add(0.1, wide)
    plain = shelf.baseline()
    choice = shelf.ask()
    assert (choice.build, choice.others) == (plain, [])


def test_no_target_of_another_architecture_fits(shelf: Shelf) -> None:
    shelf.add(0.5)
    choice = shelf.ask(architecture="arm64")
    assert choice.build is None
    assert "arm64" in choice.reason
    assert shopfloor.SLUG in choice.reason


def test_a_machine_without_the_runtime_is_told_which(shelf: Shelf) -> None:
    shelf.add(0.5, runtime="openvino")
    choice = shelf.ask()
    assert choice.build is None
    assert "openvino" in choice.reason


def test_a_machine_is_told_when_all_builds_are_too_lax(shelf: Shelf) -> None:
    shelf.add(0.5, tolerance="int8")
    choice = shelf.ask("bf16")
    assert choice.build is None
    assert "bf16" in choice.reason


def test_a_machine_is_told_that_nothing_is_faster_without_a_baseline(shelf: Shelf) -> None:
    shelf.add(0.9, verdict="unstable")
    choice = shelf.ask()
    assert choice.build is None
    assert "proven faster" in choice.reason


def test_withdrawn_builds_are_not_on_the_shelf(shelf: Shelf) -> None:
    build = shelf.add(0.5)
    Build.objects.update(withdrawn_at=build.created_at)
    choice = shelf.ask()
    assert (choice.build, choice.others) == (None, [])
    assert "not tuned" in choice.reason


def test_an_uninspected_revision_has_nothing_on_the_shelf(shelf: Shelf) -> None:
    shelf.floor.graph.delete()
    choice = shelf.ask()
    assert choice.build is None
    assert "not inspected" in choice.reason


def test_an_empty_shelf_has_no_best_build() -> None:
    assert best_of([]) is None


def test_lists_show_the_best_ratio_for_each_target(shelf: Shelf) -> None:
    other, _ = shopfloor.make_machine("x86-64-avx2", name="laptop")
    shelf.baseline()
    shelf.add(0.8)
    shelf.add(0.4, tolerance="int8")
    shelf.baseline(other)
    revision = shelf.floor.revision
    untuned = shopfloor.make_revision("bob/other")
    assert best_ratios([revision, untuned]) == {
        revision.pk: {shopfloor.SLUG: 0.8, "x86-64-avx2": 1.0}
    }
    assert best_ratios([revision], tolerance="int8")[revision.pk][shopfloor.SLUG] == 0.4


def test_equal_ratios_are_settled_by_age(shelf: Shelf) -> None:
    first, _ = shelf.add(0.8), shelf.add(0.8)
    assert shelf.ask().build == first
    assert schemas.sha256_of(first.candidate) == first.config_sha256


def run_again(build: Build, *outcomes: str) -> None:
    for outcome in outcomes:
        Reproduction.objects.create(build=build, toolchain="0" * 64, outcome=outcome)


@pytest.mark.parametrize(
    ("outcome", "words"), [("differs", "gave other outputs"), ("failed", "did not run")]
)
def test_a_build_found_not_reproduced_is_passed_over_and_listed(
    shelf: Shelf, outcome: str, words: str
) -> None:
    baseline, slow, fast = shelf.baseline(), shelf.add(0.9), shelf.add(0.7)
    run_again(slow, "reproduced")
    run_again(fast, "reproduced", outcome)
    choice = shelf.ask()
    assert (choice.build, choice.others) == (slow, [fast, baseline])
    assert "0.700" in choice.reason
    assert words in choice.reason
    revision = shelf.floor.revision
    assert best_builds({shelf.floor.graph.pk}) == {slow.pk}
    assert best_per_target(revision) == [slow]
    assert best_ratios([revision]) == {revision.pk: {shopfloor.SLUG: 0.9}}
    assert list(fastest_builds(None)) == [slow]


def test_a_build_that_is_reproduced_at_last_is_chosen(shelf: Shelf) -> None:
    shelf.baseline()
    fast = shelf.add(0.7)
    run_again(fast, "failed", "reproduced")
    choice = shelf.ask()
    assert choice.build == fast
    assert "again" not in choice.reason


def test_a_baseline_that_differs_gives_way_to_other_targets_or_is_all_there_is(
    shelf: Shelf,
) -> None:
    close, _ = shopfloor.make_machine("x86-64-close", name="c", rank=90)
    baseline, fast = shelf.baseline(close), shelf.add(0.5, close)
    run_again(baseline, "differs")
    run_again(fast, "failed")
    choice = shelf.ask()
    assert choice.build == baseline
    assert "nothing else" in choice.reason
    far = shelf.add(0.8)
    choice = shelf.ask()
    assert (choice.build, choice.others) == (far, [fast, baseline])


def test_the_plain_network_comes_before_a_build_that_is_not_reproduced(shelf: Shelf) -> None:
    fast = shelf.add(0.5)
    run_again(fast, "differs")
    choice = shelf.ask()
    assert (choice.build, choice.others) == (None, [fast])
    assert "gave other outputs" in choice.reason


def test_reproductions_of_many_builds_are_asked_for_at_once(
    shelf: Shelf, django_assert_max_num_queries: Any
) -> None:
    for number in range(9):
        run_again(shelf.add(0.5 + number / 100), "differs")
    with django_assert_max_num_queries(4):
        assert shelf.ask().build is None
