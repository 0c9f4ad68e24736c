"""TVM on NVIDIA GPUs: compiled anywhere, run where one is."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hpcfair import machine
from tests.programs import needs
from workers.backends.tvm.cuda import TvmCudaBackend
from workers.backends.tvm.passes import pipeline_of
from workers.backends.tvm.targets import cuda_target_of
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.passes.menu import PassBackend
from workers.engine.random_inputs import random_inputs
from workers.engine.types import TargetSpec
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = pytest.mark.slow

HOPPER = TargetSpec(
    "nvidia-h200", "x86-64", frozenset({"avx2", "cuda", "sm_90", "nvidia-h200"}), 2, None
)


def test_a_target_names_the_generation_of_its_gpu() -> None:
    named = cuda_target_of(HOPPER)
    assert (named["kind"], named["arch"]) == ("cuda", "sm_90")
    assert named["host"]["mcpu"] == "x86-64-v3"
    with pytest.raises(InvalidCandidate, match="does not name a GPU generation"):
        cuda_target_of(replace(HOPPER, features=frozenset({"cuda"})))


@dataclass(frozen=True, slots=True)
class CompiledForGpu:
    """A network compiled for ``HOPPER``: TVM's module, and the kernels it calls."""

    module: Any
    called: list[str]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> CompiledForGpu:
    """The multilayer perceptron."""
    from workers.backends.tvm.compile import compile_network  # noqa: PLC0415  heavy
    from workers.backends.tvm.importer import import_model  # noqa: PLC0415
    from workers.backends.tvm.provenance import calls_of  # noqa: PLC0415

    network = networks.write(networks.mlp(), tmp_path_factory.mktemp("mlp") / "model")
    imported = import_model(network.model_path, network.inputs, None)
    called: list[str] = []

    def watch(name: str, module: object) -> object:
        if name == "RewriteDataflowReshape":
            called.extend(n for n in calls_of(module) if not n.startswith("vm."))
        return module

    built = compile_network(imported, pipeline_of("full"), cuda_target_of(HOPPER), {}, watch)
    return CompiledForGpu(built.executable.mod, called)


def test_every_call_of_a_network_has_a_kernel_of_the_gpu(compiled: CompiledForGpu) -> None:
    from workers.backends.tvm import code  # noqa: PLC0415  heavy

    sources = code.sources_of(compiled.module, compiled.called)
    assert len(compiled.called) == 3
    assert all("__global__" in sources[name]["cuda"] for name in compiled.called)


@needs("nvcc")
def test_nvidias_compiler_takes_the_kernels(compiled: CompiledForGpu) -> None:
    import tvm  # noqa: PLC0415  heavy
    from tvm.support.nvcc import compile_cuda  # noqa: PLC0415

    from workers.backends.tvm import code  # noqa: PLC0415

    whole = next(m for m in code.modules_of(compiled.module) if m.kind == "cuda")
    source = whole.inspect_source("cuda")
    with tvm.target.Target(cuda_target_of(HOPPER)):
        ptx = compile_cuda(source, target_format="ptx", arch="sm_90a", compiler="nvcc")
    assert all(f".entry {name}_kernel" in bytes(ptx).decode() for name in compiled.called)


@needs("cc")
@needs("no cuda-bindings")
def test_without_a_compiler_for_gpus_the_backend_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "nvcc" else installed(name))
    with pytest.raises(BackendUnavailable, match="needs nvcc"):
        TvmCudaBackend().probe(HOPPER)


def test_it_cannot_be_the_reference_and_its_passes_are_not_studied(tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    backend = TvmCudaBackend()
    assert backend.space(network, HOPPER).contains(backend.default(network, HOPPER))
    assert not isinstance(backend, PassBackend)
    with pytest.raises(InvalidCandidate, match="no unoptimised mode"):
        backend.reference(network, HOPPER)


@needs("cc")
@needs("gpu")
def test_a_build_runs_on_the_gpu(tmp_path: Path) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    backend, target = TvmCudaBackend(), this_target()
    target = replace(target, features=frozenset(machine.describe().features))
    (tmp_path / "build").mkdir()
    build = backend.build(network, target, backend.default(network, target), tmp_path / "build")
    session = backend.load(build, target)
    assert session.run(random_inputs(network, 1))["scores"].shape == (1, 10)
    session.close()
