"""A profile as groups: shares, sums, marks; and what cannot be true is left out."""

import pytest

from registry.selectors.analysis.performance import Performance, model_precision_of, performance_of
from registry.selectors.analysis.profiledbuild import default_build, profiled_builds
from registry.selectors.results.profile import profile_of
from registry.tables import Build, CallSite, Graph, Profile, Target
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.shopfloor import Floor, call_site

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def build(floor: Floor) -> Build:
    return profiles.publish(floor, shopfloor.profile(), profiles.planted())[1]


def read(build: Build) -> Performance:
    return performance_of(build, profile_of(build))


def test_shares_refer_to_the_run_and_add_up_with_the_gap(build: Build) -> None:
    performance = read(build)
    assert [one.share for one in performance.groups] == [0.05, 0.5, 0.1, 0.15, 0.1]
    assert (performance.sum_ns, performance.gap_ns, performance.whole_ns) == (900, 100, 1000)
    assert performance.is_reconciled
    assert (performance.attributed_ns, performance.unattributed_ns) == (850, 50)
    assert performance.between_ns == 20
    assert performance.groups[1].spread == 0.025
    assert [one.sequence for one in performance.hottest(2)] == [1, 3]
    assert performance.coverage.linked == 5


def test_marks_say_what_is_special(build: Build) -> None:
    performance = read(build)
    marks = [one.marks for one in performance.groups]
    assert marks == [("conversion",), ("tuned",), ("untuned",), ("untuned",), ("bfloat16",)]
    assert performance.tuned_share == pytest.approx(500 / 900)
    assert performance.conversion_share == pytest.approx(50 / 900)
    assert performance.precisions == {"float32": 750, "bfloat16": 100, "": 50}
    assert [one.grade for one in performance.groups] == ["", "exact", "exact", "inferred", "shared"]


def test_times_that_cannot_be_part_of_the_run_count_for_nothing(build: Build) -> None:
    CallSite.objects.filter(profile=build.profile, sequence=0).update(median_ns=10**19 // 2)
    CallSite.objects.filter(profile=build.profile, sequence=2).update(median_ns=-7)
    performance = read(build)
    assert [one.sequence for one in performance.sentinels] == [0, 2]
    assert performance.sum_ns == 750
    assert [performance.groups[at].share for at in (0, 2)] == [0.0, 0.0]
    assert performance.groups[1].share == 0.5
    assert not performance.is_reconciled


def test_calls_longer_than_the_run_have_shares_of_their_sum(build: Build) -> None:
    Profile.objects.filter(build=build).update(total_ns=600)
    performance = read(build)
    assert sum(one.share for one in performance.groups) == pytest.approx(1)
    assert performance.gap_ns == -300
    assert not performance.is_reconciled
    assert performance.between_ns == 0


def test_an_empty_profile_has_no_groups(floor: Floor) -> None:
    empty = {"method": "none", "total_ns": 0, "folded": [], "kernels": [], "call_sites": []}
    performance = read(profiles.publish(floor, empty)[0])
    assert performance.groups == []
    assert (performance.tuned_share, performance.between_ns, performance.hottest(5)) == (0, 0, [])


def test_the_page_starts_with_the_best_profiled_build(floor: Floor, build: Build) -> None:
    builds = profiled_builds(floor.graph)
    assert default_build(builds) == build
    assert default_build(builds, shopfloor.SLUG) == build
    assert default_build(builds, "riscv64") is None
    assert default_build([]) is None
    # An emulated target is no first choice, whatever its ratios are.
    Target.objects.update(is_emulated=True)
    assert default_build(profiled_builds(floor.graph)) == build
    build.profile.delete()
    assert default_build(profiled_builds(floor.graph)) == builds[1]


def test_the_precision_of_a_network_is_that_of_its_numbers() -> None:
    signature = {"inputs": [{"dtype": "int64"}], "outputs": [{"dtype": "float16"}]}
    assert model_precision_of(Graph(signature=signature)) == "float16"
    assert model_precision_of(Graph(signature={"inputs": [{"dtype": "int64"}]})) == ""


def test_an_integer_that_indexes_is_no_change_of_precision(floor: Floor) -> None:
    sites = [call_site("gather", 10, (0, "exact"), precision="int64", operator="Gather")]
    profile = shopfloor.profile(call_sites=sites, kernels=[])
    assert read(profiles.publish(floor, profile)[0]).groups[0].marks == ()
