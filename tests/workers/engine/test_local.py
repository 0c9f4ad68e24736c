"""The local device builds and runs in children, and hands back only what holds up."""

import gc
import re
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.isolation.limits import Limits
from tests.workers.engine.cast import NETWORK, TARGET
from tests.workers.engine.odd_backends import WORDS, GainlessBackend, HomelessBackend, OddBackend
from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.backends.fake.kernels import DEFAULT_S
from workers.engine.errors import CandidateFailed
from workers.engine.handover import result_of
from workers.engine.local import LocalDevice
from workers.engine.local_session import LocalSession
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import BuildResult, Network, Options

BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        FakeBackend(),
        FaultyBackend(),
        OddBackend(),
        HomelessBackend(),
        GainlessBackend(),
    )
}
LIMITS = Limits(wall_s=300, memory_bytes=2**30, file_bytes=2**24)
X = {"x": np.arange(16, dtype=np.float32).reshape(2, 8)}


@pytest.fixture
def network(tmp_path: Path) -> Network:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"pretend")
    return replace(NETWORK, model_path=folder / "model.onnx")


def device_for(network: Network, tmp_path: Path, limits: Limits = LIMITS) -> LocalDevice:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return LocalDevice(
        TuningRequest(network, TARGET, tuple(BACKENDS), limits=limits), BACKENDS, scratch
    )


@pytest.fixture
def device(network: Network, tmp_path: Path) -> Iterator[LocalDevice]:
    with device_for(network, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalDevice]:
    """A device that nobody closes or spoils."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "model").mkdir()
    (folder / "model" / "model.onnx").write_bytes(b"pretend")
    network = replace(NETWORK, model_path=folder / "model" / "model.onnx")
    with device_for(network, folder) as made:
        yield made


@pytest.fixture(scope="module")
def build(shared: LocalDevice) -> BuildResult:
    return shared.build("fake", options_of("fake"))


def options_of(backend: str, **changed: str | int | bool) -> Options:
    return {**BACKENDS[backend].default(NETWORK, TARGET), **changed}


def test_a_build_is_described_by_what_it_is(shared: LocalDevice, build: BuildResult) -> None:
    assert build.outcome == "measured", build.detail
    assert build.directory is not None
    assert (build.directory / build.entry_point).is_file()
    assert (build.runtime, build.tolerance) == ("fake", "exact")
    assert build.toolchain == {"fake": "1"}
    assert build.compile_s > 0
    assert build.peak_rss_bytes is not None
    assert build.peak_rss_bytes > 2**20
    assert shared.isolation


def test_a_backend_that_cannot_work_here_is_known_before_a_build(shared: LocalDevice) -> None:
    assert shared.fault_of("fake") == ""
    assert shared.fault_of("homeless") == "Backend homeless needs the package nowhere."


def test_a_session_runs_and_times_in_its_own_process(
    shared: LocalDevice, build: BuildResult
) -> None:
    session = shared.open("fake", build, "candidate", X)
    assert session.run(X)["scores"].shape == (2, 10)
    timing = session.time(runs=5, warmup=1)
    assert len(timing.samples_ns) == 5
    assert min(timing.samples_ns) >= DEFAULT_S * 1e9
    assert timing.involuntary_switches is not None
    assert timing.peak_rss_bytes is not None
    session.close()
    session.close()
    with pytest.raises(CandidateFailed):
        session.run(X)


def test_two_sessions_of_one_build_stand_side_by_side(
    shared: LocalDevice, build: BuildResult
) -> None:
    first = shared.open("fake", build, "baseline", X)
    second = shared.open("fake", build, "candidate", X)
    np.testing.assert_array_equal(first.run(X)["scores"], second.run(X)["scores"])
    # A search opens thousands: those that were closed are forgotten.
    gone = weakref.ref(first)
    first.close()
    del first
    shared.open("fake", build, "candidate", X)
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("fault", "outcome", "said"),
    [
        ("invalid", "invalid", "Conv: this operator is not supported"),
        ("memory", "crash", "MemoryError"),
        ("build-hang", "timeout", "no answer within"),
    ],
)
def test_a_failed_build_is_a_result_of_its_class(
    network: Network, tmp_path: Path, fault: str, outcome: str, said: str
) -> None:
    limits = replace(LIMITS, wall_s=1 if outcome == "timeout" else LIMITS.wall_s)
    with device_for(network, tmp_path, limits) as device:
        build = device.build("faulty", options_of("faulty", fault=fault))
        assert build.outcome == outcome
        assert said in build.detail
        assert build.directory is None
        assert list((tmp_path / "scratch").iterdir()) == []
        with pytest.raises(CandidateFailed, match="nothing was built"):
            device.open("faulty", build, "candidate", X)


def test_the_next_build_reads_what_a_failed_one_has_made(device: LocalDevice) -> None:
    details = [device.build("gainless", options_of("gainless")).detail for _ in range(2)]
    assert details == ["no gain, studied", "no gain, read"]


@pytest.mark.parametrize(("fault", "outcome"), [("crash", "crash"), ("hang", "timeout")])
def test_a_session_that_breaks_is_a_failure_of_its_class(
    network: Network, tmp_path: Path, fault: str, outcome: str
) -> None:
    with device_for(network, tmp_path) as device:
        build = device.build("faulty", options_of("faulty", fault=fault))
        session = device.open("faulty", build, "candidate", X)
        assert isinstance(session, LocalSession)
        # Only what hangs is held to so little time.
        session._child._limits = replace(LIMITS, wall_s=1 if fault == "hang" else LIMITS.wall_s)
        with pytest.raises(CandidateFailed) as caught:
            session.run(X)
        assert caught.value.outcome == outcome
        session.close()
        assert device.build("fake", options_of("fake")).outcome == "measured"


@pytest.mark.parametrize(
    ("oddity", "said"),
    [
        ("pipe", ""),
        ("hard link", "no plain file"),
        ("outside", "lies outside"),
        ("options", "answer is invalid"),
        ("huge", "over the limit"),
        ("many", "over the limit"),
        # Whoever sees it first: the check of the result, or the watch.
        ("deep", "over the limit|64 deep"),
        ("name", "a file called"),
        ("surrogate", "answer is invalid"),
    ],
)
def test_an_artefact_that_cannot_be_trusted_is_refused(
    network: Network, tmp_path: Path, oddity: str, said: str
) -> None:
    with device_for(network, tmp_path) as device:
        build = device.build("odd", options_of("odd", kernel=oddity))
        assert build.outcome in {"invalid", "crash"}
        assert re.search(said, build.detail)
        assert build.directory is None
        assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("oddity", "said"),
    [
        ("no entry point", "lacks its entry point"),
        ("absolute", "lies outside"),
        ("tolerance", "claims the tolerance"),
        ("nested value", "answer is invalid"),
        ("not a number", "answer is invalid"),
        ("long", "answer is invalid"),
    ],
)
def test_a_description_that_makes_no_sense_is_refused(
    build: BuildResult, oddity: str, said: str
) -> None:
    """As a device reads it, without the child whose words it reads."""
    assert build.directory is not None
    fields = ("entry_point", "runtime", "runtime_options", "tolerance", "toolchain", "provenance")
    honest = {name: getattr(build, name) for name in (*fields, "compile_s", "peak_rss_bytes")}
    assert result_of(honest, build.directory, LIMITS).outcome == "measured"
    with pytest.raises(CandidateFailed, match=said):
        result_of({**honest, **WORDS[oddity]}, build.directory, LIMITS)


def test_closing_the_device_ends_sessions_and_deletes_builds(
    network: Network, tmp_path: Path
) -> None:
    with device_for(network, tmp_path) as device:
        build = device.build("fake", options_of("fake"))
        session = device.open("fake", build, "candidate", X)
    assert list((tmp_path / "scratch").iterdir()) == []
    with pytest.raises(CandidateFailed):
        session.run(X)


def test_a_discarded_build_is_gone_and_others_stay(device: LocalDevice) -> None:
    first, second = (device.build("fake", options_of("fake")) for _ in range(2))
    device.discard(first)
    assert first.directory is not None
    assert not first.directory.exists()
    assert second.directory is not None
    assert second.directory.exists()


def test_samples_are_read_in_a_child(network: Network, tmp_path: Path) -> None:
    path = network.model_path.parent / "samples.npz"
    arrays: dict[str, Any] = {"inputs/x": np.ones((9, 8), np.float32), "labels": np.arange(9)}
    np.savez(path, **arrays)
    with device_for(replace(network, samples_path=path), tmp_path) as device:
        tests = device.test_set(4, seed=0)
    assert [case["x"].shape for case in tests.cases] == [(4, 8)]
    assert tests.labels is not None
    np.testing.assert_array_equal(tests.labels, [0, 5, 2, 7])
    assert tests.source == "samples"


@pytest.mark.parametrize("content", ["not a zip", "pickle"])
def test_samples_that_cannot_be_read_are_a_failure(
    network: Network, tmp_path: Path, content: str
) -> None:
    path = network.model_path.parent / "samples.npz"
    if content == "pickle":
        arrays: dict[str, Any] = {"inputs/x": np.array([{"a": 1}], dtype=object)}
        np.savez(path, **arrays)
    else:
        path.write_text(content)
    with (
        device_for(replace(network, samples_path=path), tmp_path) as device,
        pytest.raises(CandidateFailed) as caught,
    ):
        device.test_set(4, seed=0)
    assert caught.value.outcome == "invalid"
