"""What to tune next: share times headroom, with what it rests on."""

import pytest

from registry.selectors.analysis.tunenext import profiled_targets, tune_next
from registry.tables import User
from tests.factories import make_user
from tests.registry import shopfloor
from tests.registry.analysis import profiles
from tests.registry.analysis.profiles import OTHER_WORKLOAD
from tests.registry.analysis.test_peers import confirm
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    made = shopfloor.floor()
    profiles.publish(made, shopfloor.profile(total_ns=1000), profiles.planted())
    return made


def test_a_confirmed_schedule_gives_the_gain(floor: Floor) -> None:
    # 100 ns and 150 ns today; a search confirmed 40 ns.
    confirm(floor, 4e-8, key=OTHER_WORKLOAD)
    first, *rest = tune_next(None, floor.target).opportunities
    assert (first.label, first.calls, first.basis) == ("Conv", 2, "confirmed")
    assert first.share == pytest.approx(0.25)
    assert first.headroom == pytest.approx(1 - 40 / 150)
    assert first.gain == pytest.approx(0.25 * (1 - 40 / 150))
    assert first.is_schedulable
    # The others have no known headroom: longest first, and the workload is listed once.
    assert [one.basis for one in rest] == ["unknown"] * len(rest)
    shares = [one.share for one in rest]
    assert shares == sorted(shares, reverse=True)
    assert [one.group.workload for one in rest].count(OTHER_WORKLOAD) == 0


def test_only_readable_models_are_listed(floor: Floor) -> None:
    hidden = shopfloor.floor("bob/secret", private=True)
    profiles.publish(hidden, profiles.planted())
    stranger, bob = make_user("eve"), User.objects.get(username="bob")
    seen = tune_next(stranger, floor.target)
    assert {one.mlmodel.full_name for one in seen.opportunities} == {"alice/squeezenet"}
    assert (seen.models, seen.all_models) == (1, 1)
    assert tune_next(bob, floor.target).all_models == 2


def test_targets_are_those_with_profiles_of_readable_models(floor: Floor) -> None:
    assert profiled_targets(None) == [floor.target]
    other, _ = shopfloor.make_machine("arm64", name="another")
    assert other not in profiled_targets(None)
    floor.revision.mlmodel.visibility = "private"
    floor.revision.mlmodel.save()
    assert profiled_targets(make_user("eve")) == []


def test_a_target_without_profiles_has_nothing_to_tune(floor: Floor) -> None:
    other, _ = shopfloor.make_machine("arm64", name="another")
    assert tune_next(None, other).opportunities == []
