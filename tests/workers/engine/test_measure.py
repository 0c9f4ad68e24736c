"""The paired measurement, on simulated sessions under a virtual clock."""

from collections.abc import Callable, Iterator
from statistics import median

import pytest

from hpcfair.measurement.ratio import FEWEST_ROUNDS
from hpcfair.measurement.rounds import BLOCK_S, MOST_RUNS, WARM_S
from hpcfair.measurement.types import Block, Timing
from workers.backends.fake.backend import FakeBackend
from workers.backends.fake.kernels import latency_s
from workers.engine.contention import Load, contention_share, read_load, stall_share, stolen_share
from workers.engine.errors import BaselineFailed, CandidateFailed
from workers.engine.measure import measure_into, prune_by_first_runs
from workers.engine.rounds import EXTENSION, PRUNE_ROUNDS, Rounds, StopRule
from workers.engine.spent import Spent
from workers.engine.trials import Measurement
from workers.engine.types import Options
from workers.testing.simulation import (
    QUIET,
    Noise,
    SimulatedDevice,
    SimulatedSession,
    VirtualClock,
)

from .cast import NETWORK, TARGET

BACKEND = FakeBackend()
DEFAULT = BACKEND.default(NETWORK, TARGET)
FAST: Options = {**DEFAULT, "kernel": "blocked", "tile": 32, "unroll": 4}
SLOW: Options = {**DEFAULT, "vectorise": False}

Opener = Callable[[Options], SimulatedSession]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def device(clock: VirtualClock) -> Iterator[SimulatedDevice]:
    with SimulatedDevice({"fake": BACKEND}, NETWORK, TARGET, clock) as opened:
        yield opened


@pytest.fixture
def start(device: SimulatedDevice) -> Opener:
    def opened(options: Options) -> SimulatedSession:
        return device.open("fake", device.build("fake", options), "test", {"x": None})

    return opened


def measure(
    baseline: SimulatedSession,
    candidate: SimulatedSession,
    clock: VirtualClock,
    rule: StopRule | None = None,
    load: Callable[[], Load] = lambda: Load(0.5, None),
) -> Measurement:
    rounds, rule = Rounds(), rule or StopRule(half_width=0.03, seconds=4.0)
    measure_into(rounds, baseline, candidate, rule, clock, load=load)
    return rounds.measurement(rule)


def test_the_ratio_is_that_of_the_latencies(start: Opener, clock: VirtualClock) -> None:
    found = measure(start(DEFAULT), start(FAST), clock)
    true = latency_s(FAST) / latency_s(DEFAULT)
    assert found.ratio.value == pytest.approx(true)
    assert found.verdict == "faster"
    assert found.candidate_p50_ns == pytest.approx(latency_s(FAST) * 1e9, abs=1)


def test_a_drifting_machine_does_not_bend_the_ratio(
    device: SimulatedDevice, start: Opener, clock: VirtualClock
) -> None:
    device.noise = Noise(run=0.02, process=0.0, drift=0.5, drift_s=3.0)
    found = measure(start(DEFAULT), start(FAST), clock)
    true = latency_s(FAST) / latency_s(DEFAULT)
    assert found.ratio.value == pytest.approx(true, rel=0.03)
    medians = [median(block.baseline_ns) for block in found.blocks]
    assert max(medians) / min(medians) > 1.2  # the latencies themselves did bend


def test_two_sessions_of_one_build_are_the_same(
    device: SimulatedDevice, start: Opener, clock: VirtualClock
) -> None:
    device.noise = Noise(run=0.02, process=0.0, drift=0.0)
    assert measure(start(DEFAULT), start(DEFAULT), clock).verdict == "same"


def test_a_block_lasts_a_useful_time(start: Opener, clock: VirtualClock) -> None:
    block = measure(start(DEFAULT), start(FAST), clock).blocks[0]
    assert sum(block.candidate_ns) / 1e9 >= 2 * BLOCK_S
    assert sum(block.baseline_ns) / 1e9 >= 2 * BLOCK_S


def test_a_slow_network_runs_once_a_block_and_a_quick_one_not_for_ever(
    start: Opener, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.testing.simulation.latency_s", lambda _options: 1.0)
    slow = measure(start(DEFAULT), start(DEFAULT), clock)
    assert {len(block.candidate_ns) for block in slow.blocks} == {2}
    monkeypatch.setattr("workers.testing.simulation.latency_s", lambda _options: 1e-6)
    quick = measure(start(DEFAULT), start(DEFAULT), clock)
    assert {len(block.candidate_ns) for block in quick.blocks} == {MOST_RUNS}


def test_a_tiny_network_is_warm_before_its_few_timed_runs(
    start: Opener, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.testing.simulation.latency_s", lambda _options: 1e-5)
    candidate = start(FAST)
    real, warm = candidate.time, []

    def time(runs: int, warmup: int) -> Timing:
        warm.append(warmup)
        return real(runs, warmup)

    monkeypatch.setattr(candidate, "time", time)
    measure(start(DEFAULT), candidate, clock)
    assert min(warm[1:]) * 1e-5 >= 0.9 * WARM_S


@pytest.mark.parametrize(("latency_s", "is_slow"), [(1e-5, False), (1e-3, True)])
def test_a_tiny_network_is_not_pruned_by_its_cold_runs(
    start: Opener,
    clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
    latency_s: float,
    *,
    is_slow: bool,
) -> None:
    monkeypatch.setattr("workers.testing.simulation.latency_s", lambda _options: 1e-5)
    baseline, candidate = start(DEFAULT), start(FAST)
    done = 0

    def time(runs: int, warmup: int) -> Timing:
        nonlocal done
        numbers = range(done + warmup, done + warmup + runs)
        done += warmup + runs
        return Timing(tuple(int(1e9 * (latency_s if at > 5 else 2e-4)) for at in numbers))

    monkeypatch.setattr(candidate, "time", time)
    rounds = Rounds()
    rule = StopRule(0.03, 4.0, hopeless_above=1.0)
    assert prune_by_first_runs(rounds, baseline, candidate, rule, clock) == is_slow
    assert rounds.is_pruned == is_slow
    assert done < 200


def test_sides_alternate_when_the_other_has_come_to_rest_and_after_untimed_runs(
    start: Opener, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline, candidate = start(DEFAULT), start(FAST)
    log: list[str] = []

    def spy(name: str, session: SimulatedSession) -> None:
        real = session.time

        def time(runs: int, warmup: int) -> Timing:
            assert warmup >= 1
            log.append(name)
            return real(runs, warmup)

        monkeypatch.setattr(session, "time", time)
        monkeypatch.setattr(session, "rest", lambda: log.append(name.lower()))

    spy("A", baseline)
    spy("B", candidate)
    measure(baseline, candidate, clock, StopRule(0.03, 100.0, rounds=2))
    # Before all the candidate rests, which was checked; then two first looks, then two rounds.
    assert "".join(log) == "bAaB" + "bAaBbA" + "AaBbA"


def test_processes_with_odd_numbers_swap_the_sides(start: Opener, clock: VirtualClock) -> None:
    rounds, rule = Rounds(), StopRule(0.03, 100.0, rounds=3)
    for process in range(2):
        measure_into(rounds, start(DEFAULT), start(FAST), rule, clock, process=process)
    found = rounds.measurement(rule)
    assert [block.process for block in found.blocks] == [0, 0, 0, 1, 1, 1]
    assert found.ratio.value == pytest.approx(latency_s(FAST) / latency_s(DEFAULT))


def test_measuring_ends_early_when_the_interval_is_narrow(
    device: SimulatedDevice, start: Opener, clock: VirtualClock
) -> None:
    device.noise = Noise(run=0.2, process=0.0, drift=0.0)
    noisy = measure(start(DEFAULT), start(FAST), clock, StopRule(0.01, 20.0))
    device.noise = QUIET
    quiet = measure(start(DEFAULT), start(FAST), clock, StopRule(0.01, 20.0))
    assert len(quiet.blocks) == 6 < len(noisy.blocks)


def test_the_time_cap_holds_and_is_admitted(
    device: SimulatedDevice, start: Opener, clock: VirtualClock
) -> None:
    device.noise = Noise(run=0.5, process=0.0, drift=0.0)
    baseline, candidate = start(DEFAULT), start(DEFAULT)
    before = clock.now_s
    found = measure(baseline, candidate, clock, StopRule(0.001, 3.0))
    assert clock.now_s - before <= 3.0 * 1.1
    assert found.quality["unstable"] is True
    assert found.verdict == "unstable"


def test_a_hopeless_candidate_is_given_up_with_its_samples_kept(
    start: Opener, clock: VirtualClock
) -> None:
    rounds, rule = Rounds(), StopRule(0.0, 60.0, hopeless_above=1.0)
    measure_into(rounds, start(DEFAULT), start(SLOW), rule, clock)
    assert rounds.is_pruned
    assert len(rounds.blocks) == PRUNE_ROUNDS
    assert rounds.measurement(rule).ratio.value == pytest.approx(1.5)


def test_a_candidate_near_the_bar_is_not_given_up(start: Opener, clock: VirtualClock) -> None:
    rounds = Rounds()
    measure_into(rounds, start(DEFAULT), start(DEFAULT), StopRule(0.03, 9.0, None, 0.95), clock)
    assert not rounds.is_pruned


class Company:
    """A machine that others want, too, during some rounds: looked at before the first and after
    each."""

    def __init__(self, during: Callable[[int], bool]) -> None:
        self._during = during
        self._looks = 0
        self._stalled_us = 0

    def __call__(self) -> Load:
        if self._looks and self._during(self._looks - 1):
            self._stalled_us += 10**9
        self._looks += 1
        return Load(1.5, self._stalled_us)


def test_rounds_that_others_disturb_are_marked_and_left_out(
    start: Opener, clock: VirtualClock
) -> None:
    found = measure(start(DEFAULT), start(FAST), clock, load=Company(lambda number: number == 1))
    assert found.quality["contended_rounds"] == [1]
    assert found.quality["cpu_stall_share"] == 1.0
    assert len(found.blocks) == 1 + FEWEST_ROUNDS
    assert found.quality["load_before"] == found.quality["load_after"] == 1.5
    assert "disturbed" not in found.quality


def test_where_others_disturb_measuring_goes_on_for_as_long_again(
    start: Opener, clock: VirtualClock
) -> None:
    """The rule gives it six rounds, of which others take every second."""
    alone = measure(start(DEFAULT), start(FAST), clock, StopRule(0.0, 3.0))
    rounds = len(alone.blocks)
    every_second = Company(lambda number: number % 2 == 0)
    found = measure(start(DEFAULT), start(FAST), clock, StopRule(0.0, 3.0), every_second)
    assert rounds < len(found.blocks) <= EXTENSION * rounds
    assert found.verdict == "faster"
    assert "disturbed" not in found.quality


@pytest.mark.parametrize(
    ("ratio", "alone", "in_company"),
    [
        (0.5, "faster", "faster"),
        (0.9, "faster", "unstable"),
        (1.0, "same", "unstable"),
        (1.1, "slower", "unstable"),
        (2.0, "slower", "slower"),
    ],
)
def test_in_company_only_what_it_cannot_explain_is_said(
    ratio: float, alone: str, in_company: str
) -> None:
    rule, ratios = StopRule(0.03, 4.0), [ratio] * FEWEST_ROUNDS
    assert made(*ratios).measurement(rule).verdict == alone
    assert made(*ratios, contended=(0,)).measurement(rule).verdict == in_company
    assert made(*ratios, ratio, contended=(0,)).measurement(rule).verdict == alone


def test_what_others_disturbed_throughout_is_marked_after_twice_its_time(
    start: Opener, clock: VirtualClock
) -> None:
    rule, baseline, candidate = StopRule(0.03, 3.0), start(DEFAULT), start(FAST)
    before = clock.now_s
    found = measure(baseline, candidate, clock, rule, Company(lambda _: True))
    assert rule.seconds < clock.now_s - before <= EXTENSION * rule.seconds * 1.1
    assert len(found.quality["contended_rounds"]) == len(found.blocks)
    assert found.quality["disturbed"]


def made(*ratios: float, contended: tuple[int, ...] = ()) -> Rounds:
    """Rounds of these ratios over a baseline of 100 ns."""
    blocks = [Block(0, (100,), (round(100 * ratio),)) for ratio in ratios]
    return Rounds(blocks, list(contended), loads=[Load(None, None)])


def test_disturbed_rounds_give_nobody_up() -> None:
    rule = StopRule(0.0, 60.0, hopeless_above=1.0)
    fooled = made(3.0, 3.0, 3.0, 1.0, contended=(0, 1, 2))
    assert not fooled.is_enough(0, rule, 1.0)
    assert not fooled.is_pruned
    slow = made(3.0, 1.0, 3.0, 3.0, 3.0, contended=(1,))
    assert slow.is_enough(0, rule, 1.0)
    assert slow.is_pruned


def test_no_time_is_added_for_what_even_disturbed_rounds_show_to_be_of_no_use() -> None:
    rule = StopRule(0.0, 4.0, hopeless_above=1.0)
    assert made(3.0, 3.0, 3.0, contended=(0, 1, 2)).is_enough(0, rule, 4.0)
    assert not made(1.0, 1.0, 1.0, contended=(0, 1, 2)).is_enough(0, rule, 4.0)


def test_a_process_that_others_disturb_gets_its_rounds_later_but_not_for_ever() -> None:
    rule = StopRule(0.01, 60.0, rounds=3)
    assert made(1.0, 1.0, 1.0).is_enough(0, rule, 1.0)
    assert not made(1.0, 1.0, 1.0, contended=(2,)).is_enough(0, rule, 1.0)
    assert made(1.0, 1.0, 1.0, 1.0, contended=(2,)).is_enough(0, rule, 1.0)
    assert made(*[1.0] * EXTENSION * 3, contended=tuple(range(EXTENSION * 3))).is_enough(
        0, rule, 1.0
    )


def test_others_add_no_time_beyond_the_most_seconds() -> None:
    disturbed = made(1.0, 1.0, 1.0, contended=(0, 1, 2))
    assert not disturbed.is_enough(0, StopRule(0.0, 4.0), 4.0)
    assert not disturbed.is_enough(0, StopRule(0.0, 4.0, most_seconds=6.0), 4.0)
    assert disturbed.is_enough(0, StopRule(0.0, 4.0, most_seconds=5.0), 4.0)
    # The least number of rounds runs in any case.
    assert not made(1.0, 1.0).is_enough(0, StopRule(0.0, 4.0, most_seconds=0.0), 4.0)


def test_typical_latencies_are_of_the_rounds_that_the_ratio_is_of() -> None:
    found = made(*[9.0] * 5, *[0.5] * FEWEST_ROUNDS, contended=(0, 1, 2, 3, 4))
    measured = found.measurement(StopRule(0.03, 4.0))
    assert (measured.candidate_p50_ns, measured.baseline_p50_ns) == (50, 100)
    assert measured.ratio.value == 0.5


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_the_failure_of_a_side_is_told_apart(side: str, start: Opener, clock: VirtualClock) -> None:
    sessions = {"baseline": start(DEFAULT), "candidate": start(FAST)}
    sessions[side].fails = "crash"
    expected = BaselineFailed if side == "baseline" else CandidateFailed
    with pytest.raises(expected) as raised:
        measure(sessions["baseline"], sessions["candidate"], clock)
    assert raised.value.outcome == "crash"


def test_this_machine_tells_its_load() -> None:
    load = read_load()
    assert load.average is None or load.average >= 0
    assert load.spent.own_s is None or load.spent.own_s > 0
    assert stall_share(load, read_load(), 1.0) is None or load.stalled_us is not None


def test_shares_stay_between_nothing_and_all() -> None:
    def stolen(seconds: float | None) -> Load:
        return Load(None, None, Spent(stolen_s=seconds))

    assert stall_share(Load(None, 0), Load(None, 250_000), 1.0) == 0.25
    assert stall_share(Load(None, 0), Load(None, 5_000_000), 1.0) == 1.0
    assert stall_share(Load(None, None), Load(None, 5), 1.0) is None
    assert stolen_share(stolen(1.0), stolen(1.25), 1.0) == 0.25
    assert stolen_share(stolen(1.0), stolen(9.0), 1.0) == 1.0
    assert stolen_share(stolen(None), stolen(9.0), 1.0) is None


@pytest.mark.parametrize(
    ("stalled_s", "others_s", "share"),
    [
        (0.9, 0.0, 0.0),  # our own threads wait for each other
        (0.0, 0.9, 0.0),  # others compute on a core that we leave idle
        (0.9, 0.4, 0.4),
        (0.3, 2.0, 0.3),
        (None, 0.4, 0.4),
        (0.9, None, 0.9),
        (None, None, None),
    ],
)
def test_company_is_who_computes_while_somebody_waits(
    stalled_s: float | None, others_s: float | None, share: float | None
) -> None:
    """We take one second of the processors in each case."""
    before = Load(None, None if stalled_s is None else 0, Spent(10.0, 0.0, 4.0))
    spent = Spent() if others_s is None else Spent(11.0 + others_s, 0.0, 5.0)
    after = Load(None, None if stalled_s is None else round(stalled_s * 1e6), spent)
    found = contention_share(before, after, 1.0)
    assert found == (None if share is None else pytest.approx(share))
