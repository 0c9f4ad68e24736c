"""From the builds of a search to the one of the highest throughput, on a simulated machine."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import pytest

from hpcfair.scenarios import MULTI_STREAM, OFFLINE, Scenario
from tests.workers.engine.cast import NETWORK, TARGET
from tests.workers.engine.searching import a_request
from workers.engine.ports import Backend, PhaseTime
from workers.engine.queries.configuration import QueryConfiguration, QueryMeasurement
from workers.engine.queries.errors import NotMeasured
from workers.engine.queries.explore import QueryRequest, QueryResult, measure_queries
from workers.engine.queries.screening import fastest_of
from workers.engine.queries.subjects import Variant, subjects_of, variants_of
from workers.engine.queries.sweep import ThroughputPoint
from workers.engine.search_result import SearchResult
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.trials import Trial
from workers.engine.tune import tune
from workers.engine.types import BuildResult, Candidate, TensorSpec
from workers.testing.simulation import Noise, VirtualClock

from .queries import QueryDevice, StreamedBackend

BACKENDS: Mapping[str, Backend] = {"fake": StreamedBackend()}
#: Its samples are whole inputs: the fake kernels mix rows.
FIXED = replace(
    NETWORK,
    inputs=(TensorSpec("x", "float32", (1, 8)),),
    outputs=(TensorSpec("scores", "float32", (1, 10)),),
)
REQUEST = replace(a_request(), network=FIXED)


@pytest.fixture
def device() -> Iterator[QueryDevice]:
    noise = Noise(run=0.01, process=0.0, drift=0.0)
    backends = {"fake": StreamedBackend()}
    with QueryDevice(backends, FIXED, TARGET, VirtualClock(), noise) as opened:
        opened.per_s = {"baseline": 1000.0, "one": 1000.0, "streams": 1500.0}
        yield opened


@pytest.fixture
def result(device: QueryDevice) -> SearchResult:
    return tune(REQUEST, BACKENDS, device, MemoryTrialStore(), clock=device.clock)


def measured(
    device: QueryDevice,
    result: SearchResult,
    seconds: float,
    scenario: Scenario = OFFLINE,
    before: QueryResult | None = None,
) -> QueryResult:
    def progress(
        phase: str,
        done: int,
        total: int | None,
        message: str,
        phase_time: PhaseTime | None = None,
    ) -> None:
        device.is_measuring = message.startswith("measuring")

    return measure_queries(
        REQUEST,
        BACKENDS,
        device,
        result,
        QueryRequest(scenario, seconds, before),
        clock=device.clock,
        progress=progress,
    )


def test_streams_are_proved_where_they_are_faster(
    device: QueryDevice, result: SearchResult
) -> None:
    offline = measured(device, result, 60.0)
    exact = offline.configurations[0]
    assert exact.confirmed.measurement.protocol["scenario"] == OFFLINE
    assert exact.execution.streams == "cores"
    assert exact.confirmed.measurement.verdict == "faster"
    assert 1 / exact.confirmed.measurement.ratio.value == pytest.approx(1.5, rel=0.05)
    # The hint replaces the threads, which the runtime would refuse beside it.
    options = exact.confirmed.trial.candidate.options
    assert options["hint"] == "throughput"
    assert "threads" not in options
    assert offline.baseline.confirmed.measurement.verdict != "faster"


def test_queries_of_eight_samples_are_a_scenario_of_their_own(
    device: QueryDevice, result: SearchResult
) -> None:
    several = measured(device, result, 60.0, MULTI_STREAM)
    exact = several.configurations[0]
    assert exact.execution.streams == "cores"
    assert exact.confirmed.measurement.verdict == "faster"
    for each in (several.baseline, exact):
        protocol = each.confirmed.measurement.protocol
        assert (protocol["scenario"], protocol["samples_per_run"]) == (MULTI_STREAM, 8)
        # The query of either side has eight samples.
        assert each.confirmed.measurement.baseline_p50_ns == pytest.approx(8e6, rel=0.05)
    with pytest.raises(NotMeasured, match="do not suffice"):
        measured(device, result, 0.1, MULTI_STREAM)


def test_small_queries_screen_what_was_fast_with_small_batches(
    device: QueryDevice, result: SearchResult
) -> None:
    offline = measured(device, result, 60.0)
    several = measured(device, result, 60.0, MULTI_STREAM, offline)
    assert several.configurations[0].execution.streams == "cores"
    by_class = Counter(each.tolerance for each in several.screened)
    assert set(by_class) == {each.tolerance for each in offline.screened}
    assert len(several.screened) < len(offline.screened)
    assert max(by_class.values()) <= 2


def test_after_a_build_that_fails_the_next_is_measured(
    device: QueryDevice, result: SearchResult
) -> None:
    device.crashes = 1
    exact = measured(device, result, 60.0).configurations[0]
    assert device.crashes == 0
    assert exact.confirmed.measurement.verdict == "faster"


def test_without_a_gain_the_defaults_are_left(device: QueryDevice, result: SearchResult) -> None:
    device.per_s |= {"one": 950.0, "streams": 900.0}
    offline = measured(device, result, 60.0)
    assert offline.configurations == ()
    assert offline.baseline.execution.streams == "one"


@pytest.mark.parametrize(("seconds", "processes"), [(12.0, 3), (4000.0, 8)])
def test_the_time_decides_how_many_processes_measure_a_build(
    device: QueryDevice, result: SearchResult, seconds: float, processes: int
) -> None:
    exact = measured(device, result, seconds).configurations[0]
    assert {block.process for block in exact.confirmed.measurement.blocks} == {*range(processes)}


@pytest.mark.parametrize(("seconds", "classes"), [(12.0, ["exact"]), (60.0, ["exact", "int8"])])
def test_lower_precisions_are_left_out_when_no_time_is_left(
    device: QueryDevice, result: SearchResult, seconds: float, classes: list[str]
) -> None:
    device.factors = {"int8": 3.0}
    offline = measured(device, result, seconds)
    assert [each.confirmed.build.tolerance for each in offline.configurations] == classes
    assert offline.baseline.confirmed.measurement.blocks


def test_each_class_is_screened_before_a_second_way_to_open_a_stricter_one(
    device: QueryDevice, result: SearchResult
) -> None:
    measured(device, result, 60.0)
    # The defaults, then those for streams, then the best exact build.
    screened = [session.tolerance for session in device.sessions if session.current]
    classes = [*dict.fromkeys(each.build.tolerance for each in result.confirmed_results)]
    assert len(classes) > 1
    assert screened[2 : 2 + len(classes)] == classes
    assert "exact" in screened[2 + len(classes) :]


@pytest.mark.parametrize("seconds", [30.0, 120.0])
@pytest.mark.parametrize("open_s", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("sample_s", [1e-4, 0.01, 0.1, 0.3, 1.0, 20.0])
def test_the_time_is_kept_to_however_long_queries_and_compilation_take(
    device: QueryDevice, result: SearchResult, sample_s: float, open_s: float, seconds: float
) -> None:
    measurement = replace(result.baseline.measurement, candidate_p50_ns=round(1e9 * sample_s))
    result = replace(result, baseline=replace(result.baseline, measurement=measurement))
    device.per_s = {"baseline": 1 / sample_s, "one": 1 / sample_s, "streams": 1.5 / sample_s}
    device.factors = {"int8": 2.0}
    device.open_s = open_s
    started_s = device.clock.monotonic()
    configurations: tuple[QueryMeasurement, ...] = ()
    with suppress(NotMeasured):
        configurations = measured(device, result, seconds).configurations
    if seconds >= 300 * sample_s + 35 * open_s:
        assert configurations[0].confirmed.measurement.verdict == "faster"
    assert device.clock.monotonic() - started_s <= 1.2 * seconds


@pytest.mark.parametrize("open_s", [0.0, 4.0])
@pytest.mark.parametrize("sample_s", [0.1, 1.0])
def test_the_time_that_is_stated_to_be_needed_suffices_soon(
    device: QueryDevice, result: SearchResult, sample_s: float, open_s: float
) -> None:
    measurement = replace(result.baseline.measurement, candidate_p50_ns=round(1e9 * sample_s))
    result = replace(result, baseline=replace(result.baseline, measurement=measurement))
    device.per_s = {"baseline": 1 / sample_s, "one": 1 / sample_s, "streams": 1.5 / sample_s}
    device.open_s = open_s
    with pytest.raises(NotMeasured) as first:
        measured(device, result, 15.0)
    needed_s = [first.value.needed_s or 0.0]
    for _ in range(3):
        with suppress(NotMeasured):
            exact = measured(device, result, needed_s[-1]).configurations[0]
            break
        needed_s.append(2 * needed_s[-1])
    assert needed_s[0] >= 30.0
    assert exact.confirmed.measurement.verdict == "faster"


def test_the_second_build_of_a_backend_comes_after_other_backends(result: SearchResult) -> None:
    exact = next(each for each in result.confirmed_results if each.build.tolerance == "exact")
    second = replace(exact, trial=replace(exact.trial, candidate=Candidate("fake", {"second": 1})))
    other = replace(
        exact.trial,
        candidate=Candidate("other", {}),
        build=replace(exact.build, tolerance="exact"),
    )
    changed = replace(
        result, confirmed_results=(exact, second), trials=(*result.trials, other)
    )  # fmt: skip
    backends = {"fake": StreamedBackend(), "other": StreamedBackend()}
    names = [each.trial.candidate for each in subjects_of(changed, backends)]
    assert [each.backend for each in names[:3]] == ["fake", "fake", "other"]
    # Then what was tried and is built otherwise than both, before the second build.
    further = names[3 : names.index(Candidate("fake", {"second": 1}))]
    assert 1 <= len(further) <= 2
    tried = {trial.candidate.sha256 for trial in changed.trials}
    assert {each.sha256 for each in further} <= tried - {exact.trial.candidate.sha256}


def test_a_build_is_opened_for_streams_first() -> None:
    build = BuildResult("measured", runtime_options={"threads": 2})
    trial = Trial(0, Candidate("fake", {"threads": 2, "tile": 8}), "test", "measured", 1.0, build)
    streams, one = variants_of(trial, build, StreamedBackend(), 2)
    assert (streams.streams, one.streams) == ("cores", "one")
    assert one.candidate(4).options == {"threads": 2, "tile": 8, "batch": 4, "streams": "one"}
    assert [each.streams for each in variants_of(trial, build, StreamedBackend(), 1)] == ["one"]


def test_the_fastest_are_those_that_a_screening_cannot_tell_apart() -> None:
    def configuration(per_s: float, tolerance: str) -> QueryConfiguration:
        build = BuildResult("measured", tolerance=tolerance)  # type: ignore[arg-type]
        trial = Trial(0, Candidate("fake", {"speed": per_s}), "test", "measured", 1.0, build)
        point = ThroughputPoint("candidate", 1, 2, per_s)
        return QueryConfiguration(Variant(trial, build, "cores"), point, (point,))

    exact = [configuration(per_s, "exact") for per_s in (2.0, 1.9, 1.8, 1.2)]
    int8 = [configuration(per_s, "int8") for per_s in (2.03, 5.0, 4.0)]
    both = [*int8, *exact]
    assert [each.point.throughput_per_s for each in fastest_of(both, "exact", 1.0)] == [2.0, 1.9]
    assert [each.point.throughput_per_s for each in fastest_of(both, "int8", 1.0)] == [5.0]
    assert fastest_of(both[:1] + exact, "int8", 1.0) == []
    assert fastest_of(exact, "exact", 1.99) == []
