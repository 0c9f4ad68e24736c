"""The rule that shares a queue between accounts: its bounds, by properties and by simulation."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fairshare import (
    LEVELS,
    FlowState,
    jobs_ahead,
    level_of,
    rank,
)
from tests.registry.work.queue_simulation import Simulation, Work, longest_wait_s

_DAY = datetime(2026, 1, 1, tzinfo=UTC)

seconds = st.floats(1.0, 300.0)
jobs_of_others = st.lists(
    st.builds(
        Work,
        owner=st.sampled_from("abcdef"),
        at=st.floats(0.0, 2000.0),
        seconds=seconds,
        # Anyone may claim that a job is short.
        estimate_s=st.floats(0.5, 300.0),
        priority=st.sampled_from([100, 100, 100, 250, 300]),
    ),
    max_size=120,
)


def flood(
    owner: str, count: int, length: float = 40.0, at: float = 0.0, **columns: int
) -> list[Work]:
    return [Work(owner, at, length, length, **columns) for _ in range(count)]


@given(jobs_of_others, st.floats(0.0, 2000.0), seconds, st.integers(1, 3))
def test_the_wait_of_a_small_owner_is_bounded_whatever_others_do(
    others: list[Work], at: float, length: float, workers: int
) -> None:
    small = Work("small", at, length, length)
    Simulation(workers).run([*others, small])
    flows = {(work.owner, level_of(work.priority)) for work in others}
    longest = max((work.seconds for work in others), default=0.0)
    bound = longest_wait_s(others=len(flows), longest_s=longest, workers=workers)
    assert 0 <= small.wait <= bound + 1e-6


@given(jobs_of_others, st.integers(1, 3))
def test_every_job_is_served_once(others: list[Work], workers: int) -> None:
    order = Simulation(workers, new="abc").run(others)
    assert Counter(map(id, order)) == Counter(map(id, others))


@given(st.lists(seconds, min_size=30, max_size=60), st.lists(seconds, min_size=30, max_size=60))
def test_two_owners_who_always_wait_get_the_same_seconds(
    first: list[float], second: list[float]
) -> None:
    arrivals = [Work("a", 0.0, s, s) for s in first] + [Work("b", 0.0, s, s) for s in second]
    received = {"a": 0.0, "b": 0.0}
    left = Counter(work.owner for work in arrivals)
    for work in Simulation().run(arrivals):
        if not all(left.values()):
            break
        received[work.owner] += work.seconds
        left[work.owner] -= 1
        # One job of each: the bound of start-time fair queueing.
        assert abs(received["a"] - received["b"]) <= 600


def test_who_waits_behind_51_models_of_another_waits_for_two() -> None:
    for new in ((), ("flood", "small")):
        small = Work("small", 130.0, 40.0, 40.0)
        Simulation(new=new).run([*flood("flood", 51), small])
        assert small.wait <= 80, new


def test_who_understates_the_length_of_jobs_pays_for_what_they_take() -> None:
    liars = [Work("liar", 0.0, 300.0, 1.0) for _ in range(40)]
    order = Simulation().run([*liars, *flood("honest", 40, 30.0)])
    until = order.index([work for work in order if work.owner == "honest"][-1])
    lied = sum(work.seconds for work in order[:until] if work.owner == "liar")
    assert lied <= 40 * 30 + 2 * 300


def test_many_new_accounts_have_the_share_of_one() -> None:
    puppets = [work for number in range(500) for work in flood(f"puppet{number}", 1)]
    names = {work.owner for work in puppets}
    order = Simulation(new=names).run([*puppets, *flood("old", 20)])
    last = max(order.index(work) for work in order if work.owner == "old")
    assert last <= 41
    # Without that rule they would have all the time.
    order = Simulation().run([*puppets, *flood("old", 20)])
    assert max(order.index(work) for work in order if work.owner == "old") > 500


@given(st.integers(0, 60))
def test_a_new_account_waits_for_the_turns_of_those_before_it(count: int) -> None:
    before = [work for number in range(count) for work in flood(f"puppet{number}", 3)]
    new = {"small", *(work.owner for work in before)}
    small = Work("small", 1.0, 40.0, 40.0)
    Simulation(new=new).run([*before, *flood("old", 100), small])
    assert small.wait <= longest_wait_s(others=1, longest_s=40.0, new_ahead=count)


def test_what_people_wait_for_comes_before_background_work_which_starves_never() -> None:
    study = Work("b", 0.0, 300.0, 300.0, priority=300)
    few = Simulation().run([study, *flood("a", 20, at=0.0)])
    assert few[-1] is study
    many = Simulation().run([study, *flood("a", 1000)])
    ahead_s = sum(work.seconds for work in many[: many.index(study)])
    assert ahead_s <= LEVELS[2].handicap_s + 40
    assert many[-1] is not study


def test_small_jobs_come_first_but_large_ones_are_not_overtaken_for_ever() -> None:
    large = rank(submitted_at=_DAY, priority=100, estimate_s=600)
    small = {"priority": 100, "estimate_s": 10.0}
    assert rank(submitted_at=_DAY + timedelta(minutes=30), **small) < large
    assert rank(submitted_at=_DAY + timedelta(minutes=61), **small) > large
    assert rank(submitted_at=_DAY, priority=99, estimate_s=10) < rank(submitted_at=_DAY, **small)


@pytest.mark.parametrize(
    ("own", "others", "ahead"),
    [
        (0, [], 0),
        (3, [], 0),
        (0, [FlowState(0, 90.0, 50, 40.0)], 1),
        (0, [FlowState(0, 101.0, 50, 40.0)], 0),
        (2, [FlowState(0, 90.0, 50, 40.0)], 3),
        (2, [FlowState(0, 90.0, 2, 40.0)], 2),
        (0, [FlowState(2, 7300.0, 9, 40.0)], 0),
    ],
)
def test_jobs_ahead_are_counted_by_turns(own: int, others: list[FlowState], ahead: int) -> None:
    count, length = jobs_ahead(FlowState(0, 100.0, own + 1, 40.0), own, others)
    assert (count, length) == (ahead, ahead * 40.0)
