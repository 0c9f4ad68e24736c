"""Backends that cannot work on a machine are left out before a search."""

from dataclasses import replace
from pathlib import Path

import pytest

from hpcfair.isolation.limits import Limits
from tests.programs import needs
from tests.workers.engine.odd_backends import HomelessBackend
from workers.backends.fake.backend import FakeBackend
from workers.backends.litert.backend import LiteRtBackend
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.openvino.backend import OpenVinoBackend
from workers.backends.registry import available
from workers.backends.torch.backend import TorchBackend
from workers.backends.tvm.backend import TvmBackend
from workers.device import usable
from workers.engine.errors import BackendUnavailable
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import AlternativeFormat, Network
from workers.fleet.probe import this_machine
from workers.testing import networks

LIMITS = Limits(wall_s=300, memory_bytes=4 * 2**30)


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return networks.write(networks.mlp(), tmp_path / "model")


@pytest.fixture(autouse=True)
def nothing_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usable, "_WORKING", set())


def device_of(network: Network, folder: Path, *backends: Backend) -> LocalDevice:
    (folder / "scratch").mkdir()
    request = TuningRequest(network, this_machine("processor").spec, (), limits=LIMITS)
    by_name = {backend.name: backend for backend in backends}
    return LocalDevice(request, by_name, folder / "scratch")


def test_a_backend_that_cannot_work_is_named_with_its_reason(
    network: Network, tmp_path: Path
) -> None:
    names = ("fake", "homeless")
    toolchain = {name: {name: "1"} for name in names}
    with device_of(network, tmp_path, FakeBackend(), HomelessBackend()) as device:
        faults = usable.faults_of(device, names, toolchain, {"onnx"})
        assert faults == {"homeless": "Backend homeless needs the package nowhere."}
        # What works is looked at once; what does not may have been installed meanwhile.
        assert usable.faults_of(device, ("fake",), toolchain, {"onnx"}) == {}
        assert [key[0] for key in usable._WORKING] == ["fake"]


@pytest.mark.slow
def test_every_installed_backend_can_work_on_this_machine(network: Network, tmp_path: Path) -> None:
    target = this_machine("processor").spec
    backends, _ = available(target, None, {"onnx"})
    toolchain = {name: backend.probe(target) for name, backend in backends.items()}
    with device_of(network, tmp_path, *backends.values()) as device:
        assert usable.faults_of(device, backends, toolchain, {"onnx"}) == {}


def test_without_a_compiler_inductor_builds_nothing(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(BackendUnavailable, match="no-such-compiler, which is missing"):
        TorchBackend().require(network, this_machine("processor").spec)


@needs("ai_edge_litert")
def test_without_its_converter_litert_takes_no_pytorch_program(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.backends.litert.backend.CONVERTER", "no_such_converter")
    program = AlternativeFormat("torch-export", network.model_path, "0" * 64)
    target = this_machine("processor").spec
    with pytest.raises(BackendUnavailable, match="litert-torch"):
        LiteRtBackend().require(replace(network, alternatives=(program,)), target)
    published = replace(program, format="tflite")
    LiteRtBackend().require(replace(network, alternatives=(program, published)), target)


@pytest.mark.parametrize("backend", [OpenVinoBackend(), TvmBackend()], ids=lambda each: each.name)
def test_what_does_not_read_trees_is_left_out(network: Network, backend: Backend) -> None:
    trees = replace(network, operators={"Cast": 1, "ai.onnx.ml::TreeEnsembleClassifier": 1})
    with pytest.raises(BackendUnavailable, match="TreeEnsembleClassifier"):
        backend.require(trees, this_machine("processor").spec)
    assert OnnxRuntimeBackend().reads_ml
