"""Passwords cannot be guessed quickly, and nobody can lock an owner out."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from registry.services.people import signin
from registry.services.people.signin import (
    ATTACK,
    NETWORK,
    PAIR,
    Schedule,
    SignIn,
    signin_begin,
    signin_succeed,
)
from registry.tables import SignInAttempts

pytestmark = pytest.mark.django_db

OWNER = SignIn("alice", "198.51.100.1")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A clock that the test moves by ``clock(seconds)``."""
    moment = [timezone.now()]
    monkeypatch.setattr(signin.timezone, "now", lambda: moment[0])

    def forward(seconds: float) -> None:
        moment[0] += timedelta(seconds=seconds)

    return forward


def guesses(clock: Any, attempt: SignIn, seconds: float) -> int:
    """Passwords that are checked for someone who tries as early as possible for ``seconds``."""
    checked, left = 0, seconds
    while left > 0:
        wait_s = signin_begin(attempt)
        checked += not wait_s
        step = max(wait_s, 0.01)
        clock(step)
        left -= step
    return checked


def test_each_further_guess_waits_twice_as_long(clock: Any) -> None:
    assert [signin_begin(OWNER) for _ in range(PAIR.free)] == [0] * PAIR.free
    waits = []
    for _ in range(9):
        wait_s = signin_begin(OWNER)
        assert wait_s > 0
        assert signin_begin(OWNER) == wait_s, "a refused guess prolongs nothing"
        waits.append(wait_s)
        clock(wait_s)
        assert signin_begin(OWNER) == 0
    assert waits == [2, 4, 8, 16, 32, 64, 128, 256, 300]


def test_a_day_of_guesses_from_one_network_is_few_hundred(clock: Any) -> None:
    assert guesses(clock, SignIn("alice", "203.0.113.1"), 86_400) < 320


def test_guesses_at_many_accounts_from_one_network_are_bounded(clock: Any) -> None:
    checked = 0
    for number in range(600):
        checked += not signin_begin(SignIn(f"user{number}", "203.0.113.1"))
        clock(1)
    assert checked < 80


@pytest.mark.parametrize("networks", [1, 60])
def test_strangers_do_not_delay_the_owner(clock: Any, networks: int) -> None:
    for number in range(networks):
        stranger = SignIn("alice", f"203.0.113.{number}")
        for _ in range(20):
            signin_begin(stranger)
            clock(0.1)
    assert signin_begin(OWNER) == 0, "from another network"
    same = SignIn("alice", "203.0.113.0", browser="known")
    assert signin_begin(same) == 0, "from the same network, in a known browser"


def test_under_attack_a_new_network_has_one_free_guess(clock: Any) -> None:
    for number in range(ATTACK):
        assert signin_begin(SignIn("alice", f"203.0.{number}.1")) == 0
    fresh = SignIn("alice", "203.0.113.200")
    assert signin_begin(fresh) == 0
    assert signin_begin(fresh) == 60
    assert signin_begin(SignIn("bob", "203.0.113.200")) == 0, "of other accounts nothing changes"
    clock(3601)
    assert [signin_begin(SignIn("alice", "203.0.114.1")) for _ in range(2)] == [0, 0]


def test_a_right_password_forgets_the_persons_failures_and_not_the_networks(clock: Any) -> None:
    for _ in range(PAIR.free):
        signin_begin(OWNER)
    assert signin_begin(OWNER) > 0
    clock(2)
    assert signin_begin(OWNER) == 0
    signin_succeed(OWNER)
    assert [signin_begin(OWNER) for _ in range(PAIR.free)] == [0] * PAIR.free
    failures = SignInAttempts.objects.order_by("-failures").values_list("failures", flat=True)
    assert failures[0] == 2 * PAIR.free


def test_names_that_do_not_exist_are_counted_like_others(clock: Any) -> None:
    nobody = [signin_begin(SignIn("no-such-person", "203.0.113.5")) for _ in range(7)]
    somebody = [signin_begin(SignIn("alice", "203.0.113.6")) for _ in range(7)]
    assert nobody == somebody


@pytest.mark.parametrize("name", ["ALICE", " alice ", "Alice"])
def test_spellings_of_a_name_count_together(clock: Any, name: str) -> None:
    for _ in range(PAIR.free):
        signin_begin(OWNER)
    assert signin_begin(SignIn(name, OWNER.network)) > 0


def test_no_address_is_stored_and_old_counters_go(clock: Any) -> None:
    signin_begin(OWNER)
    keys = list(SignInAttempts.objects.values_list("key", flat=True))
    assert len(keys) == 3
    assert all(len(key) == 64 and "198" not in key[:3] for key in keys)
    clock(2 * 86_400)
    signin_begin(SignIn("bob", "203.0.113.7"))
    assert not SignInAttempts.objects.filter(key__in=keys).exists()


def test_waits_have_an_end() -> None:
    assert Schedule(free=0, base_s=1, most_s=30, forget_s=60).wait_s(10**9, 0) == 30
    assert NETWORK.wait_s(10**6, 31) == 0
