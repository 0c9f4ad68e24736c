"""ONNX Runtime with chosen optimisers."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.errors import BadConfig
from hpcfair.measurement.level import MOST_REPETITIONS
from hpcfair.measurement.types import Block
from hpcfair.runtimes import optimisers, registry
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.onnxruntime.space import space_of
from workers.engine.clock import SystemClock
from workers.engine.contention import Load
from workers.engine.errors import CandidateFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.passes import evaluation
from workers.engine.passes.device import LocalCompiler
from workers.engine.passes.evaluation import ComparisonEffort, DevicePassEvaluator
from workers.engine.passes.menu import PassBackend
from workers.engine.requests import TuningRequest
from workers.engine.rounds import Rounds
from workers.engine.types import Network, TargetSpec
from workers.testing import networks

BACKEND = OnnxRuntimeBackend()
X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2", "fma"}), 2, None)
#: What changes the residual network of the tests, and nothing else.
ENOUGH = "ConvBNFusion,ConvActivationFusion,NchwcTransformer"
QUICK = ComparisonEffort(pairs=2, seconds=0.5)


@pytest.fixture(scope="module")
def cnn(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return networks.write(networks.residual_cnn(), tmp_path_factory.mktemp("cnn") / "model")


@contextmanager
def evaluator_of(network: Network, scratch: Path) -> Iterator[DevicePassEvaluator]:
    request = TuningRequest(network, X86, (BACKEND.name,))
    with (
        LocalCompiler(request, {BACKEND.name: BACKEND}, scratch) as device,
        EvaluationContext(request, BACKEND, device, SystemClock()) as context,
        DevicePassEvaluator(context, device, BACKEND.name, BACKEND.menu(network, X86)) as evaluator,
    ):
        yield evaluator


def test_its_passes_can_be_chosen(cnn: Network) -> None:
    assert isinstance(BACKEND, PassBackend)
    menu = BACKEND.menu(cnn, X86)
    assert menu.default == optimisers.ALL
    assert len(set(optimisers.ALL)) == len(optimisers.ALL)
    assert optimisers.disabled(menu.value(menu.default)) == set()
    assert optimisers.disabled(menu.value(())) == set(optimisers.ALL)


def test_every_optimiser_is_known_by_its_name(cnn: Network) -> None:
    """With all of them disabled, ONNX Runtime's own log knows of none beyond what it needs."""
    code = (
        "import sys, onnxruntime as ort\n"
        "from hpcfair.runtimes import optimisers\n"
        "ort.set_default_logger_severity(0)\n"
        "settings = ort.SessionOptions()\n"
        "settings.log_severity_level = 0\n"
        "ort.InferenceSession(sys.argv[1], settings, disabled_optimizers=set(optimisers.ALL))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(cnn.model_path)], capture_output=True, check=True
    ).stderr.decode()
    applied = {
        line.partition("Applying graph transformer ")[2].partition(" ")[0]
        for line in told.splitlines()
        if "Applying graph transformer " in line
    }
    assert applied == {"EnsureUniqueDQForNodeUnit"}


def test_an_ordinary_search_knows_no_passes(cnn: Network) -> None:
    assert "passes" not in space_of(cnn, X86).parameters
    served = replace(cnn, passes={"onnxruntime": (ENOUGH, "none"), "tvm": ("FuseOps",)})
    found = {
        options["passes"] for options in space_of(served, X86).enumerate() if "passes" in options
    }
    assert found == {"default", ENOUGH, "none"}
    # Offered where nothing else is changed about the file: three lists, not three times as much.
    more = space_of(served, X86).size - space_of(cnn, X86).size
    assert more == 2 * sum(o.get("artefact") == "onnx" for o in space_of(cnn, X86).enumerate())


def test_lists_are_told_apart_by_what_they_make_of_a_network(cnn: Network, tmp_path: Path) -> None:
    with evaluator_of(cnn, tmp_path) as evaluator:
        own, enough, none, odd = evaluator.fingerprints(["default", ENOUGH, "none", "Abracadabra"])
        assert own == enough != none
        assert odd == ""
        same = evaluator.compare(ENOUGH, QUICK)
        assert (same.outcome, same.same_code) == ("measured", True), same.detail
        assert same.latency is not None
        assert same.latency.value == 1
        assert same.compile is not None
        assert same.compile.low <= same.compile.value <= same.compile.high
        other = evaluator.compare("none", QUICK)
        assert (other.outcome, other.same_code) == ("measured", False), other.detail
        assert other.latency is not None
        assert other.raw["latency"]["blocks"]
        assert evaluator.compare("Abracadabra", QUICK).outcome == "invalid"
        with pytest.raises(CandidateFailed, match="Abracadabra"):
            evaluator.compare(ENOUGH, QUICK, against="Abracadabra")


@pytest.mark.parametrize(("open_until", "ran"), [(0, 1), (1, 2), (9, 3)])
def test_more_processes_run_as_long_as_it_is_open_whether_code_runs_as_fast(
    open_until: int, ran: int, cnn: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(range(100))
    monkeypatch.setattr(evaluation, "is_open", lambda _: next(looks) < open_until)
    effort = replace(QUICK, seconds=0.1, sessions=1, most_sessions=3)
    with evaluator_of(cnn, tmp_path) as evaluator:
        found = evaluator.compare("none", effort)
    assert {block["process"] for block in found.raw["latency"]["blocks"]} == set(range(ran))


def test_code_is_run_again_while_the_other_lists_code_is_off_its_level(
    cnn: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latencies_ns = [100, 100, 180, 101, 100, *[180] * (1 + MOST_REPETITIONS)]

    def measure(rounds: Rounds, *_: object, process: int) -> None:
        ns = latencies_ns.pop(0)
        rounds.loads.append(Load(None, None))
        rounds.blocks += [Block(process, (ns,), (90,))] * 6

    monkeypatch.setattr(evaluation, "measure_into", measure)
    with evaluator_of(cnn, tmp_path) as evaluator:
        repeated = evaluator.compare("none", replace(QUICK, sessions=4))
        disturbed = evaluator.compare("none", QUICK)
    assert not latencies_ns
    assert repeated.raw["latency"]["quality"]["repeated_processes"] == 1
    assert repeated.latency is not None
    assert repeated.latency.value == pytest.approx(0.9, abs=0.01)
    assert disturbed.raw["latency"]["quality"]["baseline_shift"] == pytest.approx(1.8, rel=0.02)
    assert disturbed.latency is None


def test_a_build_is_opened_with_its_list(cnn: Network, tmp_path: Path) -> None:
    request = TuningRequest(cnn, X86, (BACKEND.name,))
    menu = BACKEND.menu(cnn, X86)
    with LocalCompiler(request, {BACKEND.name: BACKEND}, tmp_path) as device:
        build = device.build(BACKEND.name, menu.candidate(ENOUGH))
        assert build.outcome == "measured", build.detail
        assert build.runtime_options["passes"] == ENOUGH
        assert build.directory is not None
        assert [path.name for path in build.directory.iterdir()] == ["model.onnx"]
        opened = registry.open(
            build.runtime, build.directory / build.entry_point, build.runtime_options
        )
        with closing(opened) as session:
            assert session.outputs[0].name == "scores"


def test_an_unknown_optimiser_is_refused_by_name(cnn: Network) -> None:
    with pytest.raises(BadConfig, match="Abracadabra"):
        registry.open("onnxruntime", cnn.model_path, {"passes": "ConvBNFusion,Abracadabra"})
