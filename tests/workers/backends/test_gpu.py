"""Backends for NVIDIA GPUs: the contract where there is one, what surrounds them everywhere."""

import gc
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hpcfair import machine
from hpcfair.errors import BadConfig, BadInput, MissingPackage, RuntimeFailed
from hpcfair.runtimes import registry as runtimes
from tests.programs import needs
from tests.workers.backends.exported import export_mlp
from tests.workers.backends.gpu import H200, TURING, Driver, install, made
from workers.backends import registry
from workers.backends.onnxruntime_cuda.backend import OnnxRuntimeCudaBackend
from workers.backends.tensorrt.backend import TensorRtBackend
from workers.backends.torch.cuda import TorchCudaBackend
from workers.engine.artefact_cache import ArtefactCache
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend
from workers.engine.requests import TuningRequest
from workers.engine.types import AlternativeFormat, BuildResult, Network, TargetSpec
from workers.fleet.probe import this_machine
from workers.testing import networks
from workers.testing.compiler_contract import CompilerContract

HERE = machine.describe()
CPU = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2"}), 2, None)
BACKENDS: list[type[Backend]] = [OnnxRuntimeCudaBackend, TensorRtBackend]


class OnGpu(CompilerContract):
    sampled: ClassVar[int] = 1
    #: Defaults round float32 products to TF32, with 10 bits of mantissa.
    default_error = 1e-2

    @pytest.fixture
    def target(self) -> TargetSpec:
        return this_machine("gpu").spec

    def device_for(self, network: Network, target: TargetSpec, folder: Path) -> LocalDevice:
        """A child for each candidate: an error of the GPU stays with the process it befell."""
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        made = self.backend()
        return LocalDevice(TuningRequest(network, target, (made.name,)), {made.name: made}, scratch)

    def test_the_runtime_states_whether_its_workers_are_pinned(
        self,
        small: Network,  # noqa: ARG002  the contract's signature
        target: TargetSpec,  # noqa: ARG002
        tmp_path: Path,  # noqa: ARG002
    ) -> None:
        """Workers of the processor may be pinned, but wait: the caller keeps its place."""
        assert not runtimes.runtime_of(self.backend().name).pins_workers


@needs("gpu")
@needs("onnxruntime_cuda")
class TestOnnxRuntimeCuda(OnGpu):
    backend = OnnxRuntimeCudaBackend
    heavy = ("onnxruntime", "onnx")


@needs("gpu")
@needs("tensorrt")
class TestTensorRt(OnGpu):
    backend = TensorRtBackend
    heavy = ("tensorrt", "onnxruntime", "onnx")


@needs("gpu")
@needs("c++")
@needs("torch")
def test_inductor_compiles_programs_for_the_gpu(tmp_path: Path) -> None:
    """In the confined child; a recorded run gives the outputs of each input, not of the first."""
    import torch  # noqa: PLC0415  heavy

    network = networks.write(networks.mlp(), tmp_path / "model")
    program = tmp_path / "model/model.pt2"
    export_mlp(program)
    network = replace(network, alternatives=(AlternativeFormat("torch-export", program, "0" * 64),))
    backend, target = TorchCudaBackend(), this_machine("gpu").spec
    reference = torch.export.load(program).module()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    device = LocalDevice(
        TuningRequest(network, target, (backend.name,)), {backend.name: backend}, scratch
    )
    exact = backend.default(network, target)
    with device:
        for options in (exact, exact | {"graphs": True}):
            build = device.build(backend.name, options)
            assert build.outcome == "measured", build.detail
            inputs = {"x": np.zeros((1, 8), np.float32)}
            with closing(device.open(backend.name, build, "candidate", inputs)) as session:
                for rows in (1, 3, 1, 1, 3):
                    x = np.random.default_rng(rows).standard_normal((rows, 8)).astype(np.float32)
                    expected = reference(torch.from_numpy(x)).detach().numpy()
                    (outputs,) = session.run({"x": x}).values()
                    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)


@pytest.fixture
def mlp(tmp_path: Path) -> Network:
    return networks.write(networks.mlp(), tmp_path / "model")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setattr(TensorRtBackend, "probe", lambda *_: {"tensorrt": "11.4.0"})
    return install(monkeypatch)


def test_a_processor_is_told_that_it_is_no_gpu_and_a_gpu_that_it_is_no_processor() -> None:
    names = ["onnxruntime", "onnxruntime_cuda", "tensorrt"]
    found, missing = registry.available(CPU, names)
    assert list(found) == ["onnxruntime"]
    assert missing["tensorrt"] == "Backend tensorrt needs an NVIDIA GPU; x86-64-avx2 has none."
    missing = registry.available(H200, names)[1]
    assert missing["onnxruntime"] == (
        "Backend onnxruntime runs on processors; nvidia-h200 is a GPU."
    )
    assert registry.reference_for(CPU) == "onnxruntime"
    assert registry.reference_for(H200) == "onnxruntime_cuda"
    assert registry.reference_for(CPU, "tflite") == "litert"


def test_what_is_not_installed_says_how_to_get_it() -> None:
    missing = registry.available(H200, ["tensorrt"])[1]
    assert missing == {} or "pip install 'hpcfair-hub[tensorrt]'" in missing["tensorrt"]
    if "tensorrt" not in runtimes.installed():
        with pytest.raises(MissingPackage, match="tensorrt") as caught:
            runtimes.open("tensorrt", Path("model.engine"), {})
        assert "pip install 'hpcfair[tensorrt]'" in caught.value.hint


def test_a_worker_serves_its_processor_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    h200 = machine.Accelerator("NVIDIA H200", capability="9.0")
    features = (*HERE.features, *h200.features)
    with_gpu = machine.replace(HERE, features=features, accelerators=(h200,))
    monkeypatch.setattr(machine, "describe", lambda: with_gpu)
    monkeypatch.delenv("HPCFAIR_TARGET", raising=False)
    assert this_machine().spec.slug == machine.target_slug(HERE)
    assert "cuda" not in this_machine().spec.features
    monkeypatch.setenv("HPCFAIR_TARGET", "gpu")
    spec = this_machine().spec
    assert spec.slug.startswith("nvidia-h200")
    assert spec.features == {"cuda", "sm_90", "nvidia-h200"}
    with pytest.raises(ValueError, match=r"fit target 'nvidia-b200'; it fits .*nvidia-h200"):
        this_machine("nvidia-b200")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", [H200, TURING], ids=["h200", "turing"])
@pytest.mark.parametrize("network", [networks.mlp, networks.residual_cnn])
def test_default_and_reference_are_in_the_space_and_nothing_is_twice(
    backend: type[Backend], target: TargetSpec, network: Any, tmp_path: Path
) -> None:
    network = networks.write(network(), tmp_path / "model")
    b = backend()
    space = b.space(network, target)
    every = [str(sorted(options.items())) for options in space.enumerate()]
    assert len(every) == len(set(every)) > 1
    assert space.contains(b.default(network, target))
    assert space.contains(b.reference(network, target))
    # Turing has no TF32, so nothing is said of it.
    assert ("tf32" in space.parameters) == (target is H200)


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_options_of_the_space_are_built(
    backend: type[Backend], mlp: Network, tmp_path: Path
) -> None:
    with pytest.raises(InvalidCandidate, match="not in the space"):
        backend().build(mlp, H200, {"precision": "float4"}, tmp_path)


def test_defaults_that_round_are_not_called_exact(mlp: Network, tmp_path: Path) -> None:
    backend = OnnxRuntimeCudaBackend()
    backend.probe = lambda _: {}  # type: ignore[method-assign]

    def tolerance(name: str, target: TargetSpec, **options: Any) -> str:
        out = tmp_path / name
        out.mkdir()
        return backend.build(mlp, target, options, out).tolerance

    exact = {
        "default": False,
        "precision": "float32",
        "graph_optimization": "all",
        "graphs": False,
    }
    half = {"default": False, "precision": "float16", "graphs": True}
    assert tolerance("a", H200, default=True) == "fp16"
    assert tolerance("b", TURING, default=True) == "exact"
    assert tolerance("c", H200, **exact, tf32=True) == "fp16"
    assert tolerance("d", H200, **exact, tf32=False) == "exact"
    assert tolerance("e", H200, **half) == "fp16"


@pytest.mark.parametrize("backend", [OnnxRuntimeCudaBackend(), TorchCudaBackend()])
def test_candidates_that_differ_in_tf32_share_no_build(
    backend: OnnxRuntimeCudaBackend | TorchCudaBackend, mlp: Network, tmp_path: Path
) -> None:
    """They would share its tolerance class."""
    cache = ArtefactCache({backend.name: backend.opening})
    space = backend.space(mlp, H200)
    rounding = next(o for o in map(space.at, range(space.size)) if o.get("tf32") is True)
    files = tmp_path / "files"
    files.mkdir()
    opened = backend.runtime_options(rounding)
    assert opened["tf32"] is True
    build = BuildResult("measured", directory=files, tolerance="fp16", runtime_options=opened)
    cache.put(backend.name, rounding, mlp.model_path, build)
    exact = rounding | {"tf32": False}
    assert cache.copy(backend.name, exact, mlp.model_path, tmp_path / "exact") is None
    other = rounding | {"graphs": not rounding["graphs"]}
    assert cache.copy(backend.name, other, mlp.model_path, tmp_path / "other") is not None


@pytest.mark.parametrize(
    ("options", "cleared", "tolerance"),
    [
        ({"precision": "float32", "tf32": False}, ["tf32"], "exact"),
        ({"precision": "float32", "tf32": True}, [], "fp16"),
        ({"precision": "float16"}, [], "fp16"),
        ({"precision": "int8"}, [], "int8"),
    ],
)
def test_an_engine_computes_in_what_its_tolerance_says(
    options: dict[str, Any], cleared: list[str], tolerance: str, mlp: Network, tmp_path: Path,
    driver: Driver,
) -> None:  # fmt: skip
    out = tmp_path / "out"
    out.mkdir()
    build = TensorRtBackend().build(mlp, H200, {**options, "effort": "most"}, out)
    (builder,) = made.builders
    assert builder.config.cleared == cleared
    assert builder.config.builder_optimization_level == 5
    assert builder.flags == 1 << 1
    (profile,) = builder.config.profiles
    assert profile.shapes == {"x": ((1, 8), (1, 8), (32, 8))}
    assert build.tolerance == tolerance
    assert build.provenance["sizes"] == {"N": [1, 1, 32]}
    # Nothing of the way is left beside the engine.
    assert [path.name for path in out.iterdir()] == ["model.engine"]


def test_int8_for_tensorrt_is_signed_and_around_zero(
    mlp: Network, tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx  # noqa: PLC0415

    kept: list[onnx.ModelProto] = []
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path: (kept.append(onnx.load(path)), unlink(path)))
    TensorRtBackend().build(mlp, H200, {"precision": "int8", "effort": "usual"}, tmp_path)
    graph = kept[-1].graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    points = [arrays[n.input[2]] for n in graph.node if n.op_type == "DequantizeLinear"]
    assert points
    assert all(point.dtype == np.int8 and not point.any() for point in points)


def test_what_tensorrt_refuses_names_operator_and_reason(
    mlp: Network, tmp_path: Path, driver: Driver
) -> None:
    options = TensorRtBackend().default(mlp, H200)
    made.parses = False
    with pytest.raises(InvalidCandidate, match="Abracadabra: no importer for it"):
        TensorRtBackend().build(mlp, H200, options, tmp_path)
    made.parses, made.builds = True, False
    with pytest.raises(InvalidCandidate, match="no engine: no kernel fits"):
        TensorRtBackend().build(mlp, H200, options, tmp_path)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    (tmp_path / "model.engine").write_bytes(b"engine")
    return tmp_path / "model.engine"


def test_an_engine_runs_and_reuses_memory_until_it_needs_more(engine: Path, driver: Driver) -> None:
    session = runtimes.open("tensorrt", engine, {})
    for rows in (2, 1, 2, 8):
        x = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        np.testing.assert_array_equal(session.run({"x": x})["y"], 2 * x)
    # Two tensors, allocated for two rows and again for eight.
    assert driver.asked.count("cuMemAlloc_v2") == 4
    assert len(driver.held) == 2
    np.testing.assert_array_equal(session.run({"x": np.ones((2, 2), np.float32)[:, ::-1]})["y"], 2)
    session.close()
    session.close()
    assert driver.held == {}
    assert driver.asked[-1] == "cuDevicePrimaryCtxRelease_v2"
    with pytest.raises(RuntimeFailed, match="closed"):
        session.run({"x": np.ones((1, 2), np.float32)})


def test_sizes_beyond_the_engines_and_wrong_options_are_refused(
    engine: Path, driver: Driver
) -> None:
    session = runtimes.open("tensorrt", engine, {})
    with pytest.raises(BadInput, match=r"does not take \[9, 2\]"):
        session.run({"x": np.ones((9, 2), np.float32)})
    with pytest.raises(BadInput, match="float64"):
        session.run({"x": np.ones((1, 2))})
    with pytest.raises(BadConfig, match="speed"):
        runtimes.open("tensorrt", engine, {"speed": True})
    engine.write_bytes(b"of another version")
    with pytest.raises(RuntimeFailed, match="version tag does not match"):
        runtimes.open("tensorrt", engine, {})


def test_a_full_gpu_is_a_failure_with_its_reason(
    engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Driver(refuses="cuMemAlloc_v2"))
    session = runtimes.open("tensorrt", engine, {})
    with pytest.raises(RuntimeFailed, match="cuMemAlloc_v2: out of memory"):
        session.run({"x": np.ones((1, 2), np.float32)})
    gc.collect()


def test_layers_are_timed_and_traced_to_the_nodes_they_stand_for(
    engine: Path, driver: Driver, tmp_path: Path
) -> None:
    model = networks.mlp()
    for number, node in enumerate(model.graph.node[:2]):
        node.name = ("Gemm_0", "Relu_0")[number]
    network = networks.write(model, tmp_path / "model")
    build = BuildResult("measured", engine.parent, engine.name, "tensorrt")
    found = TensorRtBackend().profile(
        network, H200, build, {"x": np.ones((1, 2), np.float32)}, tmp_path
    )
    first, second = found.call_sites
    assert (first.median_ns, first.runs, first.precision) == (500_000, 20, "float16")
    assert first.implementation == "sm90_gemm"
    grades = [(link.index, link.grade) for link in first.nodes]
    assert grades[:2] == [(0, "exact"), (1, "exact")]
    assert second.operator == "unknown"
    assert driver.held == {}


def test_no_driver_is_said_plainly(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    from hpcfair.runtimes import _cuda  # noqa: PLC0415

    def missing(_: str) -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(_cuda.ctypes, "CDLL", missing)
    with pytest.raises(MissingPackage, match="no NVIDIA driver"):
        runtimes.open("tensorrt", engine, {})
    build = BuildResult("measured", engine.parent, engine.name, "tensorrt")
    with pytest.raises(BackendUnavailable, match="no NVIDIA driver"):
        TensorRtBackend().load(build, H200)
