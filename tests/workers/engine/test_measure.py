"""The paired measurement, on simulated sessions under a virtual clock."""

from collections.abc import Callable, Iterator
from statistics import median

import pytest

from workers.backends.fake.backend import FakeBackend
from workers.backends.fake.kernels import latency_s
from workers.engine.contention import Load, read_load, stall_share, stolen_share
from workers.engine.errors import BaselineFailed, CandidateFailed
from workers.engine.measure import (
    BLOCK_S,
    MOST_RUNS,
    PRUNE_ROUNDS,
    SETTLE_S,
    Rounds,
    Rule,
    measure_into,
)
from workers.engine.types import Measurement, Options, Timing
from workers.testing.simulation import (
    QUIET,
    Noise,
    SimulatedDevice,
    SimulatedSession,
    VirtualClock,
)

from .cast import TARGET, WORKLOAD

BACKEND = FakeBackend()
DEFAULT = BACKEND.default(WORKLOAD, TARGET)
FAST: Options = {**DEFAULT, "kernel": "blocked", "tile": 32, "unroll": 4}
SLOW: Options = {**DEFAULT, "vectorise": False}

Opener = Callable[[Options], SimulatedSession]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def device(clock: VirtualClock) -> Iterator[SimulatedDevice]:
    with SimulatedDevice({"fake": BACKEND}, WORKLOAD, TARGET, clock) as opened:
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
    rule: Rule | None = None,
    load: Callable[[], Load] = lambda: Load(0.5, None),
) -> Measurement:
    rounds, rule = Rounds(), rule or Rule(half_width=0.03, seconds=4.0)
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


def test_sides_alternate_with_a_pause_and_untimed_runs_between_them(
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

    spy("A", baseline)
    spy("B", candidate)
    real_sleep = clock.sleep

    def sleep(seconds: float) -> None:
        if seconds == SETTLE_S:
            log.append("-")
        real_sleep(seconds)

    monkeypatch.setattr(VirtualClock, "sleep", lambda _self, seconds: sleep(seconds))
    measure(baseline, candidate, clock, Rule(0.03, 100.0, rounds=2))
    assert "".join(log) == "-A-B" + "-A-B-A" + "A-B-A"


def test_processes_with_odd_numbers_swap_the_sides(start: Opener, clock: VirtualClock) -> None:
    rounds, rule = Rounds(), Rule(0.03, 100.0, rounds=3)
    for process in range(2):
        measure_into(rounds, start(DEFAULT), start(FAST), rule, clock, process=process)
    found = rounds.measurement(rule)
    assert [block.process for block in found.blocks] == [0, 0, 0, 1, 1, 1]
    assert found.ratio.value == pytest.approx(latency_s(FAST) / latency_s(DEFAULT))


def test_measuring_ends_early_when_the_interval_is_narrow(
    device: SimulatedDevice, start: Opener, clock: VirtualClock
) -> None:
    device.noise = Noise(run=0.2, process=0.0, drift=0.0)
    noisy = measure(start(DEFAULT), start(FAST), clock, Rule(0.01, 20.0))
    device.noise = QUIET
    quiet = measure(start(DEFAULT), start(FAST), clock, Rule(0.01, 20.0))
    assert len(quiet.blocks) == 6 < len(noisy.blocks)


def test_the_time_cap_holds_and_is_admitted(
    device: SimulatedDevice, start: Opener, clock: VirtualClock
) -> None:
    device.noise = Noise(run=0.5, process=0.0, drift=0.0)
    baseline, candidate = start(DEFAULT), start(DEFAULT)
    before = clock.now_s
    found = measure(baseline, candidate, clock, Rule(0.001, 3.0))
    assert clock.now_s - before <= 3.0 * 1.1
    assert found.quality["unstable"] is True
    assert found.verdict == "unstable"


def test_a_hopeless_candidate_is_given_up_with_its_samples_kept(
    start: Opener, clock: VirtualClock
) -> None:
    rounds, rule = Rounds(), Rule(0.0, 60.0, hopeless_above=1.0)
    measure_into(rounds, start(DEFAULT), start(SLOW), rule, clock)
    assert rounds.pruned
    assert len(rounds.blocks) == PRUNE_ROUNDS
    assert rounds.measurement(rule).ratio.value == pytest.approx(1.5)


def test_a_candidate_near_the_bar_is_not_given_up(start: Opener, clock: VirtualClock) -> None:
    rounds = Rounds()
    measure_into(rounds, start(DEFAULT), start(DEFAULT), Rule(0.03, 9.0, None, 0.95), clock)
    assert not rounds.pruned


def test_rounds_that_others_disturb_are_marked_and_left_out(
    start: Opener, clock: VirtualClock
) -> None:
    calls = 0

    def load() -> Load:
        """The machine is busy during the second round: read before and after each."""
        nonlocal calls
        calls += 1
        return Load(1.5, 10**9 if calls >= 5 else 0)

    found = measure(start(DEFAULT), start(FAST), clock, load=load)
    assert found.quality["contended_rounds"] == [1]
    assert found.quality["cpu_stall_share"] == 1.0
    assert len(found.blocks) == 7  # six of them undisturbed
    assert found.quality["load_before"] == found.quality["load_after"] == 1.5


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
    assert stall_share(load, read_load(), 1.0) is None or load.stalled_us is not None


def test_the_share_of_stalls_stays_between_nothing_and_all() -> None:
    assert stall_share(Load(None, 0), Load(None, 250_000), 1.0) == 0.25
    assert stall_share(Load(None, 0), Load(None, 5_000_000), 1.0) == 1.0
    assert stall_share(Load(None, None), Load(None, 5), 1.0) is None
    assert stolen_share(Load(None, None, 1.0), Load(None, None, 1.25), 1.0) == 0.25
    assert stolen_share(Load(None, None, 1.0), Load(None, None, 9.0), 1.0) == 1.0
    assert stolen_share(Load(None, None), Load(None, None, 9.0), 1.0) is None
