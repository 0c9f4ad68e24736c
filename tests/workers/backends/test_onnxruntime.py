"""What each of ONNX Runtime's knobs makes of a network."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair.isolation.limits import Limits
from tests.workers.backends import rewritable
from tests.workers.backends.offered import ARM, X86, network_of, values
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.onnxruntime.space import space_of
from workers.engine.artifacts import artifact_files, artifact_sha256
from workers.engine.intermediates import FOLDER
from workers.engine.local import LocalDevice
from workers.engine.numerics import check, require, run_reference
from workers.engine.requests import TuningRequest
from workers.engine.types import BuildResult, Network, Options, TargetSpec
from workers.testing import networks
from workers.testing.reused import ReusedChild, ReusedDevice

BACKEND = OnnxRuntimeBackend()
VNNI = replace(X86, slug="x86-64-avx512vnni", features=X86.features | {"avx512_vnni"})
SET: Options = {"default": False, "threads": "all", "spinning": False}
EXACT: Options = {**SET, "precision": "float32", "graph_optimization": "all"}
REWRITTEN: Options = {**EXACT, "artefact": "rewritten"}
STATIC: Options = {**SET, "precision": "int8-static", "per_channel": True}
Build = Callable[..., tuple[BuildResult, onnx.ModelProto | None]]


@pytest.fixture(scope="module")
def child(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReusedChild]:
    """One process for all tests here: that each candidate has its own is not their point."""
    with ReusedChild(tmp_path_factory.getbasetemp(), Limits()) as child:
        yield child


@pytest.fixture
def build(child: ReusedChild, tmp_path: Path) -> Build:
    """Builds and checks against the reference; gives the network, too, if it is an ONNX file."""

    def built(
        network: Network, options: Options, target: TargetSpec = X86
    ) -> tuple[BuildResult, onnx.ModelProto | None]:
        known = space_of(network, target).parameters
        if "execution" in known:
            options = {**options, "execution": "sequential"}
        if options.get("precision") == "int8-static" and "quantize" in known:
            options = {"quantize": "between", **options}
        with device_for(network, target, tmp_path, child) as device:
            made = device.build(BACKEND.name, options)
            if made.outcome == "measured":
                check_outputs(device, network, target, made)
            path = made.directory and made.directory / made.entry_point
            return made, onnx.load(path) if path and path.suffix == ".onnx" else None

    return built


def device_for(
    network: Network, target: TargetSpec, folder: Path, child: ReusedChild
) -> LocalDevice:
    (folder / "scratch").mkdir(exist_ok=True)
    request = TuningRequest(network, target, (BACKEND.name,))
    return ReusedDevice(request, {BACKEND.name: BACKEND}, folder / "scratch", child)


def check_outputs(
    device: LocalDevice, network: Network, target: TargetSpec, made: BuildResult
) -> None:
    tests = device.test_set(32, seed=1)
    reference = device.build(BACKEND.name, BACKEND.reference(network, target))
    with closing(device.open(BACKEND.name, reference, "reference", tests.timing)) as session:
        expected = run_reference(session, tests)
    with closing(device.open(BACKEND.name, made, "candidate", tests.timing)) as session:
        require(check(session, tests, expected), made.tolerance, None, None)


def operators(model: onnx.ModelProto | None) -> set[str]:
    assert model is not None
    return {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("maker", [networks.mlp, networks.residual_cnn, networks.transformer])
def test_layout_would_only_repeat_all(tmp_path: Path, maker: Callable[[], onnx.ModelProto]) -> None:
    import onnxruntime as ort  # noqa: PLC0415  heavy

    ort.set_default_logger_severity(3)
    levels = ort.GraphOptimizationLevel
    path = network_of(maker, tmp_path).model_path
    saved = []
    for level in (levels.ORT_ENABLE_LAYOUT, levels.ORT_ENABLE_ALL):
        settings = ort.SessionOptions()
        settings.graph_optimization_level = level
        settings.optimized_model_filepath = str(tmp_path / f"{level.name}.onnx")
        ort.InferenceSession(path, settings)
        saved.append((tmp_path / f"{level.name}.onnx").read_bytes())
    assert saved[0] == saved[1]


def test_a_saved_network_fits_every_processor(build: Build, tmp_path: Path) -> None:
    cnn = network_of(networks.residual_cnn, tmp_path)
    made, model = build(cnn, {**EXACT, "artefact": "optimized"})
    assert made.outcome == "measured", made.detail
    assert model is not None
    assert "FusedConv" in operators(model)
    assert not [node for node in model.graph.node if "nchwc" in node.domain]
    assert made.provenance["features"]


@pytest.mark.parametrize("form", ["onnx", "optimized", "ort"])
def test_every_form_takes_its_external_data_along(
    child: ReusedChild, tmp_path: Path, form: str
) -> None:
    mlp = networks.write(networks.mlp(), tmp_path / "model", external_data="weights/w.bin")
    with device_for(mlp, X86, tmp_path, child) as device:
        made = device.build(BACKEND.name, {**EXACT, "artefact": form})
        assert made.outcome == "measured", made.detail
        mlp.model_path.parent.rename(tmp_path / "gone")
        x = {"x": np.ones((1, 8), np.float32)}
        with closing(device.open(BACKEND.name, made, "candidate", x)) as session:
            assert session.run(x)["scores"].shape == (1, 10)


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd"])
def test_external_data_outside_the_folder_is_refused(
    build: Build, tmp_path: Path, location: str
) -> None:
    mlp = networks.write(networks.mlp(), tmp_path / "model", external_data="weights.bin")
    model = onnx.load(mlp.model_path, load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = location
    onnx.save(model, mlp.model_path)
    (tmp_path / "weights.bin").write_bytes(bytes(4096))
    made, _ = build(mlp, {"default": True})
    assert made.outcome == "invalid"
    assert "outside the model's folder" in made.detail


@pytest.mark.parametrize("opset", [9, 17])
@pytest.mark.parametrize("chosen", ["heavy", "between"])
def test_a_convolutional_network_becomes_int8(
    build: Build, tmp_path: Path, opset: int, chosen: str
) -> None:
    cnn = networks.write(networks.residual_cnn(opset=opset), tmp_path / "model")
    made, model = build(cnn, {**STATIC, "quantize": chosen})
    assert made.outcome == "measured", made.detail
    assert made.tolerance == "int8"
    assert {"QuantizeLinear", "DequantizeLinear", "Conv"} <= operators(model)
    assert "BatchNormalization" not in operators(model)
    assert made.provenance["calibration"]["source"] == "random"
    assert made.provenance["operators"]["Conv"] == 2
    assert made.runtime_options["graph_optimization"] == "all"


@pytest.mark.parametrize(
    ("pooled", "target", "floats"), [(False, X86, 2), (True, X86, 0), (False, ARM, 0)]
)
def test_a_stem_of_few_channels_stays_in_float_where_that_is_faster(
    build: Build, tmp_path: Path, *, pooled: bool, target: TargetSpec, floats: int
) -> None:
    colours = networks.write(rewritable.colours(pooled=pooled), tmp_path / "model")
    made, _ = build(colours, STATIC, target)
    assert made.outcome == "measured", made.detail
    assert made.provenance["float_nodes"] == floats


def test_calibration_prefers_the_networks_own_samples(build: Build, tmp_path: Path) -> None:
    mlp = network_of(networks.mlp, tmp_path)
    path = tmp_path / "model/samples.npz"
    rows = np.random.default_rng(0).standard_normal((100, 8)).astype(np.float32)
    arrays: dict[str, Any] = {"inputs/x": rows}
    np.savez(path, **arrays)
    made, _ = build(replace(mlp, samples_path=path), STATIC)
    assert made.outcome == "measured", made.detail
    assert made.provenance["calibration"]["source"] == "samples"


def test_samples_of_different_magnitudes_are_not_cut(build: Build, tmp_path: Path) -> None:
    model = networks.mlp()
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    mlp = networks.write(model, tmp_path / "model")
    path = tmp_path / "model/samples.npz"
    rows = np.random.default_rng(0).choice([-1, 1], (64, 8)) * np.tile([1, 2, 4, 8], 16)[:, None]
    arrays: dict[str, Any] = {"inputs/x": rows.astype(np.float32)}
    np.savez(path, **arrays)
    made, _ = build(replace(mlp, samples_path=path), STATIC)
    # It would be wrong with the mean of the ranges of single samples.
    assert made.outcome == "measured", made.detail
    assert made.provenance["calibration"]["runs"] == 16


def test_a_bias_of_one_row_is_quantised_by_channel(build: Build, tmp_path: Path) -> None:
    model = networks.mlp()
    for tensor in model.graph.initializer:
        if len(tensor.dims) == 1:
            tensor.dims.insert(0, 1)
    made, _ = build(networks.write(model, tmp_path / "model"), STATIC, VNNI)
    assert made.outcome == "measured", made.detail


@pytest.mark.parametrize(("target", "bits"), [(X86, 7), (VNNI, 8), (ARM, 8)])
def test_weights_lose_a_bit_where_sums_would_saturate(
    build: Build, tmp_path: Path, target: TargetSpec, bits: int
) -> None:
    mlp = network_of(networks.mlp, tmp_path)
    made, _ = build(mlp, STATIC, target)
    assert made.outcome == "measured", made.detail
    assert made.provenance["reduce_range"] is (bits == 7)


def test_a_dense_network_becomes_int8_at_run_time(build: Build, tmp_path: Path) -> None:
    mlp = network_of(networks.mlp, tmp_path)
    made, model = build(mlp, {**SET, "precision": "int8-dynamic", "per_channel": False})
    assert made.outcome == "measured", made.detail
    assert "MatMulInteger" in operators(model)


def test_a_product_of_two_inputs_cannot_be_lowered_at_run_time(
    build: Build, tmp_path: Path
) -> None:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "x"], ["y"])],
        "square",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 4])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    square = networks.write(model, tmp_path / "model")
    made, _ = build(square, {**SET, "precision": "int8-dynamic", "per_channel": False})
    assert made.outcome == "invalid"
    assert "no operator of this network could be converted" in made.detail


def test_an_unknown_operator_cannot_be_calibrated_and_is_named(
    build: Build, tmp_path: Path
) -> None:
    model = networks.mlp()
    model.graph.node[1].op_type = "Abracadabra"
    mlp = networks.write(model, tmp_path / "model")
    made, _ = build(mlp, STATIC)
    assert made.outcome == "invalid"
    assert "Abracadabra" in made.detail


@pytest.mark.parametrize(("precision", "tolerance"), [("float16", "fp16"), ("bfloat16", "bf16")])
def test_arm_processors_get_half_precision(
    build: Build, tmp_path: Path, precision: str, tolerance: str
) -> None:
    cnn = network_of(networks.residual_cnn, tmp_path)
    made, model = build(cnn, {**SET, "precision": precision}, ARM)
    assert made.outcome == "measured", made.detail
    assert made.tolerance == tolerance
    assert ("Cast" in operators(model)) == (precision == "float16")
    assert made.runtime_options.get("bf16_gemm", False) == (precision == "bfloat16")


def test_options_outside_the_space_are_refused(build: Build, tmp_path: Path) -> None:
    mlp = network_of(networks.mlp, tmp_path)
    made, _ = build(mlp, {**SET, "precision": "float4"})
    assert made.outcome == "invalid"
    assert "not in the space" in made.detail


def test_a_network_is_rewritten_where_that_saves_a_pass(build: Build, tmp_path: Path) -> None:
    fire = networks.write(rewritable.fire(), tmp_path / "model")
    assert values(fire, X86, "artefact") == ("onnx", "optimized", "rewritten")
    made, model = build(fire, REWRITTEN)
    assert (made.outcome, made.tolerance) == ("measured", "exact"), made.detail
    assert made.provenance["rewrites"] == {"concatenations": 1}
    assert "Concat" not in operators(model)
    made, _ = build(networks.write(rewritable.fire(consumer=64), tmp_path), REWRITTEN)
    assert made.outcome == "invalid"
    assert "nothing of this network" in made.detail


def test_candidates_share_ranges_and_are_what_they_are_without(
    child: ReusedChild, tmp_path: Path
) -> None:
    network = networks.write(networks.residual_cnn(), tmp_path / "model")
    parameters = space_of(network, VNNI).parameters
    plain: Options = {**STATIC, "quantize": "heavy", "per_channel": False}
    plain |= {"execution": "sequential"} if "execution" in parameters else {}
    digests = []
    for others in ([{**plain, "per_channel": True, "quantize": "between"}], []):
        folder = tmp_path / str(len(others))
        folder.mkdir()
        with device_for(network, VNNI, folder, child) as device:
            for options in (*others, plain):
                made = device.build(BACKEND.name, options)
                assert made.outcome == "measured", made.detail
            digests.append(artifact_sha256(artifact_files(made)))
            intermediates = list((folder / "scratch" / FOLDER).iterdir())
            assert len(intermediates) == 2
    assert digests[0] == digests[1]
