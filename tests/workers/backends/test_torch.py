"""Inductor compiles the PyTorch program that was published beside the ONNX file."""

import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.isolation.limits import Limits
from hpcfair.runtimes import registry as runtimes
from hpcfair.runtimes.base import TensorInfo
from hpcfair.runtimes.tensors import MappedTensor
from tests.programs import needs
from tests.workers.backends.exported import export_mlp
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.torch.backend import TorchBackend
from workers.engine.errors import InvalidCandidate
from workers.engine.numerics import check, require, run_reference
from workers.engine.ports import Backend
from workers.engine.profile import Profile
from workers.engine.requests import TuningRequest
from workers.engine.testset import make_test_set
from workers.engine.types import AlternativeFormat, BuildResult, Network, TargetSpec
from workers.inspection.pt2 import read_pt2
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.builds import check_profile, python
from workers.testing.reused import ReusedChild, ReusedDevice

pytestmark = [needs("torch"), pytest.mark.slow]
#: A loaded machine takes minutes to compile what an idle one does in half of one.
_LIMITS = Limits(wall_s=1800)
_AVX512 = frozenset({"avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"})


def target_with(*features: str, architecture: str = "x86-64", cores: int = 2) -> TargetSpec:
    return TargetSpec("made-up", architecture, frozenset(features), cores, None)


@dataclass(frozen=True)
class Made:
    network: Network
    folder: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("published")
    network = networks.write(networks.mlp(), folder / "model")
    path = folder / "model/model.pt2"
    export_mlp(path)
    return Made(
        replace(network, alternatives=(AlternativeFormat("torch-export", path, "0" * 64),)), folder
    )


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReusedChild]:
    """The confined process that compiles, profiles and runs: PyTorch is imported once."""
    with ReusedChild(tmp_path_factory.getbasetemp(), _LIMITS) as child:
        yield child


@dataclass(frozen=True)
class Built:
    """The one package compiled here, and its profile, for which it is compiled again."""

    build: BuildResult
    profile: Profile
    code: Path


@pytest.fixture(scope="module")
def built(made: Made, child: ReusedChild) -> Built:
    scratch, code = made.folder / "scratch", made.folder / "code"
    scratch.mkdir()
    backend, target = TorchBackend(), this_target()
    request = TuningRequest(made.network, target, ("torch",), limits=_LIMITS)
    with ReusedDevice(request, {"torch": backend}, scratch, child) as device:
        options = backend.default(made.network, target) | {"effort": "freezing"}
        found = device.build("torch", options)
        assert found.outcome == "measured", found.detail
        assert found.directory is not None
        rows = {"x": np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)}
        profile = device.profile("torch", found, rows, code)
        folder = made.folder / "built"
        found.directory.rename(folder)
    return Built(replace(found, directory=folder), profile, code)


@pytest.fixture(scope="module")
def build(built: Built) -> BuildResult:
    return built.build


@needs("c++")
def test_every_call_of_a_package_is_timed_and_linked_to_the_node_it_computes(built: Built) -> None:
    """The program names its nodes otherwise than the graph: they were told by their values."""
    nodes = networks.mlp().graph.node
    check_profile(built.profile, len(nodes), built.code)
    links = [link for site in built.profile.call_sites for link in site.nodes]
    assert [(link.index, link.grade) for link in links] == [(n, "exact") for n in range(len(nodes))]
    for site in built.profile.call_sites:
        (link,) = site.nodes
        called = "addmm" if nodes[link.index].op_type == "Gemm" else "relu"
        assert called in site.operator


@needs("c++")
def test_the_code_of_a_kernel_is_what_the_package_was_compiled_from(built: Built) -> None:
    assert built.build.directory is not None
    with zipfile.ZipFile(built.build.directory / built.build.entry_point) as package:
        sources = [package.read(n).decode() for n in package.namelist() if n.endswith(".cpp")]
    assert built.profile.kernels
    for kernel in built.profile.kernels:
        code = (built.code / kernel.code["c++"]).read_text()
        assert code.startswith('extern "C"')
        assert f"{kernel.symbol}(" in code
        assert any(code.strip() in source for source in sources)


def test_a_program_of_other_weights_is_linked_to_nothing_behind_them(made: Made) -> None:
    import torch  # noqa: PLC0415  an extra

    from workers.backends.torch.values import tensors_of_nodes  # noqa: PLC0415  imports PyTorch

    program = torch.export.load(made.network.alternatives[0].path)
    mapped = [MappedTensor(TensorInfo("x", "float32", ("N", 8)), 0)]
    inputs = {"x": np.ones((2, 8), np.float32)}
    nodes = [node.name for node in program.graph.nodes]

    def found() -> list[str]:
        path = made.network.model_path
        return list(tensors_of_nodes(program, nodes, path, inputs, mapped, "float32").values())

    assert found() == [node.output[0] for node in networks.mlp().graph.node]
    program.state_dict["2.weight"].data.mul_(1.01)
    assert found() == [node.output[0] for node in networks.mlp().graph.node[:2]]


@needs("c++")
def test_a_package_agrees_with_the_onnx_reference_on_any_batch(
    made: Made, build: BuildResult, child: ReusedChild, tmp_path: Path
) -> None:
    target, network = this_target(), made.network
    backends: dict[str, Backend] = {
        "torch": TorchBackend(),
        "onnxruntime": OnnxRuntimeBackend(),
    }
    samples = {"inputs/x": np.random.default_rng(0).standard_normal((40, 8)).astype(np.float32)}
    tests = make_test_set(network, samples, 0)
    request = TuningRequest(network, target, tuple(backends), limits=_LIMITS)
    with ReusedDevice(request, backends, tmp_path, child) as device:
        truth = device.build("onnxruntime", backends["onnxruntime"].reference(network, target))
        with closing(device.open("onnxruntime", truth, "reference", tests.timing)) as session:
            expected = run_reference(session, tests)
        with closing(device.open("torch", build, "candidate", tests.timing)) as session:
            require(check(session, tests, expected), "exact", None, None)
            assert len(session.time(runs=3, warmup=1).samples_ns) == 3


@needs("c++")
def test_a_package_says_what_it_is_and_not_where_it_was_made(build: BuildResult) -> None:
    assert build.tolerance == "exact"
    assert build.provenance["precisions"] == ["float32"]
    assert build.provenance["source"] == "model.pt2"
    assert build.directory is not None
    with zipfile.ZipFile(build.directory / build.entry_point) as package:
        sources = [name for name in package.namelist() if name.endswith(".cpp")]
        assert sources
        assert not any(b"g++ " in package.read(name) for name in sources)


@needs("c++")
def test_a_package_is_refused_what_it_cannot_take(build: BuildResult, tmp_path: Path) -> None:
    assert build.directory is not None
    path = build.directory / build.entry_point
    with pytest.raises(BadConfig, match="has no option 'warp'"):
        runtimes.open("torch", path, {"warp": 9})
    with pytest.raises(RuntimeFailed, match=r"tensors\.json of this build is missing"):
        runtimes.open("torch", tmp_path / "model.pt2", {})
    (tmp_path / "tensors.json").write_bytes((build.directory / "tensors.json").read_bytes())
    (tmp_path / "model.pt2").write_bytes(b"nothing")
    with pytest.raises(RuntimeFailed, match=r"cannot open model\.pt2"):
        runtimes.open("torch", tmp_path / "model.pt2", {})
    runtime = runtimes.open("torch", path, {"threads": "one"})
    runtime.close()
    with pytest.raises(RuntimeFailed, match="closed"):
        runtime.run({"x": np.zeros((1, 8), np.float32)})


@needs("c++")
@needs("linux")
def test_a_package_runs_isolated_as_it_does_here(build: BuildResult, made: Made) -> None:
    assert build.directory is not None
    path = build.directory / build.entry_point
    inputs = make_test_set(made.network, {}, 7).timing
    here = runtimes.open("torch", path, build.runtime_options)
    with closing(here), closing(runtimes.open_isolated("torch", path, {})) as isolated:
        for name, array in here.run(inputs).items():
            np.testing.assert_allclose(isolated.run(inputs)[name], array, rtol=1e-5, atol=1e-6)


def test_inspection_reads_what_pytorch_writes(made: Made) -> None:
    found = read_pt2(made.network.alternatives[0].path)
    assert [(spec.dtype, spec.shape) for spec in found.inputs] == [("float32", ("?", 8))]
    assert [(spec.dtype, spec.shape) for spec in found.outputs] == [("float32", ("?", 10))]


def test_a_program_of_another_network_is_refused(made: Made, tmp_path: Path) -> None:
    from workers.backends.torch.compile import load_program  # noqa: PLC0415  imports PyTorch

    other = networks.write(networks.residual_cnn(), tmp_path / "other")
    with pytest.raises(InvalidCandidate, match=r"not this network: .*the shape"):
        load_program(made.network.alternatives[0].path, other, tmp_path)
    tensors = load_program(made.network.alternatives[0].path, made.network, tmp_path)
    assert json.loads((tmp_path / "tensors.json").read_text())["inputs"][0]["name"] == "x"
    assert not any("stack_trace" in node.meta for node in tensors.graph.nodes)


def test_a_damaged_program_is_an_invalid_candidate(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCHINDUCTOR_CACHE_DIR"):
        monkeypatch.setenv(name, "1")
    path = tmp_path / "model.pt2"
    path.write_bytes(made.network.alternatives[0].path.read_bytes()[:2000])
    network = replace(
        made.network, alternatives=(AlternativeFormat("torch-export", path, "0" * 64),)
    )
    target = this_target()
    with pytest.raises(InvalidCandidate, match="Inductor: "):
        TorchBackend().build(network, target, TorchBackend().default(network, target), tmp_path)


def test_a_network_without_its_program_says_what_to_publish(tmp_path: Path) -> None:
    network, target = networks.write(networks.mlp(), tmp_path / "model"), target_with()
    backend = TorchBackend()
    with pytest.raises(InvalidCandidate, match=r"publish the torch program too \(hpcfair\.save"):
        backend.build(network, target, backend.default(network, target), tmp_path)


@pytest.mark.parametrize(
    ("target", "generation"),
    [
        (target_with(), "x86-64-v2"),
        (target_with("avx2", "fma"), "x86-64-v3"),
        (target_with(*_AVX512), "x86-64-v4"),
        (target_with("asimd", architecture="arm64"), "armv8-a"),
    ],
)
def test_code_is_for_the_target_not_for_the_machine_that_compiles(
    target: TargetSpec, generation: str
) -> None:
    from workers.backends.torch import instructions  # noqa: PLC0415  imports PyTorch

    assert instructions.generation(target) == generation


def test_bfloat16_is_tried_where_the_processor_computes_in_it(tmp_path: Path) -> None:
    network, backend = networks.write(networks.mlp(), tmp_path / "model"), TorchBackend()
    plain = backend.space(network, target_with(*_AVX512))
    assert plain.contains(backend.default(network, target_with(*_AVX512)))
    assert backend.space(network, target_with("amx_bf16")).size == 2 * plain.size


def test_a_cast_does_not_forbid_autocast() -> None:
    import torch  # noqa: PLC0415

    from workers.backends.torch.compile import drop_assertions  # noqa: PLC0415

    class Casting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.dense(x).to(torch.float32)

    x = torch.randn(2, 4)
    program = torch.export.export(Casting(), (x,))
    with torch.autocast("cpu", torch.bfloat16):
        with pytest.raises(AssertionError, match="dtype mismatch"):
            torch.export.export(program.module(), (x,))
        drop_assertions(program)
        reduced = torch.export.export(program.module(), (x,)).module()(x)
    torch.testing.assert_close(reduced, program.module()(x), atol=0.05, rtol=0.05)


def test_rows_that_are_masked_as_a_whole_stay_finite_in_bfloat16() -> None:
    import torch  # noqa: PLC0415

    from workers.backends.torch.lowest import raise_lowest  # noqa: PLC0415

    class Masked(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            scores = self.dense(x).masked_fill(mask, torch.finfo(torch.float32).min)
            return torch.softmax(scores, dim=-1)

    inputs = torch.randn(2, 4), torch.ones(2, 4, dtype=torch.bool)
    program = torch.export.export(Masked(), inputs)
    raise_lowest(program, torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        weights = program.module()(*inputs)
    torch.testing.assert_close(weights.float(), torch.full((2, 4), 0.25), atol=0.01, rtol=0)


def test_the_space_is_known_without_pytorch() -> None:
    code = (
        "import sys; from workers.backends.torch.backend import TorchBackend as B\n"
        "from workers.engine.types import TargetSpec, Network; from pathlib import Path\n"
        "w = Network(Path('m.onnx'), '', '', 'mlp', (), (), {'Gemm': 1}, 1, 1)\n"
        "t = TargetSpec('arm64-generic', 'arm64', frozenset(), 4, None)\n"
        "B().space(w, t); B().default(w, t); B().probe(t); print('torch' in sys.modules)"
    )
    assert python(code).strip() == "False"
