"""Waits stay bounded with devices that differ, caps, expected improvements and cached files."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fairshare import (
    AFFINITY_S,
    device_cap,
    improvement_chance,
    level_of,
    preferred_index,
    rank,
)
from registry.matching import Capabilities, Requirement, fits
from tests.registry.work.fleet_simulation import FleetJob, FleetSimulation

GIB = 2**30
#: Three kinds of devices; the third can do everything, and the first has little memory.
KINDS = (
    Capabilities("x86-64", memory_bytes=4 * GIB, tools=frozenset({"onnxruntime"})),
    Capabilities("x86-64", memory_bytes=16 * GIB, tools=frozenset({"onnxruntime"})),
    Capabilities("x86-64", memory_bytes=64 * GIB, tools=frozenset({"onnxruntime", "tvm"})),
)
NEEDS = (
    Requirement(),
    Requirement(memory_bytes=8 * GIB),
    Requirement(memory_bytes=32 * GIB),
    Requirement(tools=frozenset({"tvm"})),
)
seconds = st.floats(1.0, 300.0)
needs = st.sampled_from(NEEDS)
fleets = st.lists(st.sampled_from(KINDS[:2]), max_size=3).map(lambda some: [KINDS[2], *some])
jobs_of_others = st.lists(
    st.builds(
        FleetJob,
        owner=st.sampled_from("abcdef"),
        at=st.floats(0.0, 2000.0),
        seconds=seconds,
        requirement=needs,
        network=st.sampled_from("xyz"),
        priority=st.sampled_from([100, 100, 250, 300]),
    ),
    max_size=60,
)


@given(fleets, jobs_of_others, st.floats(0.0, 2000.0), seconds, needs)
def test_the_wait_of_a_small_owner_is_bounded_by_the_devices_that_fit(
    devices: list[Capabilities],
    others: list[FleetJob],
    at: float,
    length: float,
    need: Requirement,
) -> None:
    small = FleetJob("small", at, length, need)
    FleetSimulation(devices).run([*others, small])
    fitting = sum(fits(device, need).is_fit for device in devices)
    flows = {(job.owner, level_of(job.priority)) for job in others}
    longest = max((job.seconds for job in others), default=0.0)
    assert 0 <= small.wait <= longest * (1 + len(flows) / fitting) + 1e-6


@given(fleets, jobs_of_others, st.sampled_from([0.3, 0.5, 1.0]))
def test_every_job_is_done_once_on_a_device_that_fits(
    devices: list[Capabilities], others: list[FleetJob], share: float
) -> None:
    simulation = FleetSimulation(devices, share=share)
    order = simulation.run(others)
    assert len({id(job) for job in order}) == len(order) == len(others)
    assert all(fits(devices[job.device], job.requirement).is_fit for job in order)
    assert simulation.most_held <= device_cap(share, len(devices))


def test_jobs_that_fit_one_device_only_gain_no_credit_while_they_wait() -> None:
    # Large jobs of one owner wait for the third device, while the others advance virtual time.
    large = [FleetJob("large", 0.0, 100.0, NEEDS[2]) for _ in range(100)]
    small = [FleetJob("flood", 0.0, 10.0) for _ in range(3000)]
    late = FleetJob("late", 3000.0, 100.0, NEEDS[2])
    FleetSimulation(KINDS).run([*large, *small, late])
    assert late.wait <= 100.0 * (1 + 2)


def test_a_cap_leaves_devices_free_for_other_owners() -> None:
    devices = [KINDS[2]] * 4
    flood = [FleetJob("flood", 0.0, 600.0) for _ in range(40)]
    late = FleetJob("late", 100.0, 10.0)
    FleetSimulation(devices, share=0.75).run([*flood, late])
    assert late.wait == 0
    late = FleetJob("late", 100.0, 10.0)
    FleetSimulation(devices).run([*flood, late])
    assert late.wait == 500


@pytest.mark.parametrize(
    ("share", "devices", "cap"),
    [(1.0, 4, 4), (0.75, 4, 3), (0.5, 3, 2), (0.01, 100, 1), (0.5, 1, 1), (0.5, 0, 1)],
)
def test_a_cap_is_a_share_of_the_devices_and_at_least_one(
    share: float, devices: int, cap: int
) -> None:
    assert device_cap(share, devices) == cap


@pytest.mark.parametrize(
    ("ranks", "cached", "index"),
    [
        ([0.0], [False], 0),
        ([0.0, 10.0], [False, True], 1),
        ([0.0, 10.0, 20.0], [False, True, True], 1),
        ([0.0, 10.0], [True, True], 0),
        ([0.0, AFFINITY_S], [False, True], 1),
        ([0.0, AFFINITY_S + 1], [False, True], 0),
    ],
)
def test_a_device_prefers_jobs_on_files_that_it_has_within_limits(
    ranks: list[float], cached: list[bool], index: int
) -> None:
    assert preferred_index(ranks, cached) == index


def test_cached_files_save_copies_and_delay_nobody_for_long() -> None:
    jobs = [
        FleetJob("alice", float(number), 30.0, network="ab"[number % 2]) for number in range(40)
    ]
    order = FleetSimulation([KINDS[2]] * 2).run(jobs)
    copies = len({(job.device, job.network) for job in order})
    networks = [[job.network for job in order if job.device == device] for device in (0, 1)]
    changes = sum(a != b for line in networks for a, b in pairwise(line))
    assert copies <= 4
    assert changes < 20
    # In the order of submission, no job is farther than the limit of the preference.
    begun = sorted(jobs, key=lambda job: job.started)
    assert max(position - jobs.index(job) for position, job in enumerate(begun)) <= 20


def _rank(**columns: float) -> float:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    return rank(submitted_at=day, priority=300, estimate_s=300.0, **columns)


def test_a_study_with_more_expected_improvement_per_second_comes_first() -> None:
    assert _rank(chance=0.9) < _rank(chance=0.5) < _rank(chance=0.1)
    # A certain improvement counts like any job, and no job is delayed by more than four hours.
    assert _rank(chance=1.0) == _rank()
    assert _rank(chance=0.0) - _rank(chance=1.0) <= 4 * 3600


@given(st.integers(1, 1000), st.floats(0, 1), st.integers(0, 10_000))
def test_the_chance_is_above_the_share_of_improvements(ended: int, share: float, more: int) -> None:
    improved = round(share * ended)
    chance = improvement_chance(improved=improved, ended=ended, total=ended + more)
    assert improved / ended <= chance <= 1


def test_untried_kinds_are_tried_and_unsuccessful_ones_come_later() -> None:
    assert improvement_chance(improved=0, ended=0, total=1000) == 1.0
    few = improvement_chance(improved=0, ended=2, total=100)
    many = improvement_chance(improved=0, ended=200, total=1000)
    assert many < 0.2 < few
