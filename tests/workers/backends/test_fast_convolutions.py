"""Which networks are offered convolutions with fewer multiplications, and their builds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.workers.backends.offered import X86, network_of, values
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.onnxruntime.files import most_added_bytes
from workers.backends.onnxruntime.rewrite import save_rewritten
from workers.backends.onnxruntime.space import space_of
from workers.engine.convolutions import ConvolutionSizes, convolution_sizes
from workers.engine.errors import InvalidCandidate
from workers.inspection.inspect import read_folder
from workers.testing import networks

RNG = np.random.default_rng(0)


def convolved(
    channels: int, kernel: tuple[int, ...], sizes: tuple[int | str, ...], **attributes: Any
) -> onnx.ModelProto:
    """A convolution of ``x``, ``[N, channels, *sizes]``, that keeps the sizes."""
    shape = (channels, channels // attributes.get("group", 1), *kernel)
    weights = RNG.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
    pads = [size // 2 for size in kernel] * 2
    node = helper.make_node("Conv", ["x", "w"], ["y"], "c", pads=pads, **attributes)
    graph = helper.make_graph(
        [node],
        "convolved",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", channels, *sizes])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights.astype(np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


IMAGE = convolved(128, (3, 3), (16, 16))
SEQUENCE = convolved(64, (11,), (200,))
OPEN_SEQUENCE = convolved(64, (11,), ("L",))


def facts(model: onnx.ModelProto, folder: Path) -> list[dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (graph,) = read_folder(folder, None)["graphs"]
    convolutions: list[dict[str, Any]] = graph["convolutions"]
    return convolutions


def test_inspection_lists_dense_convolutions(tmp_path: Path) -> None:
    assert facts(IMAGE, tmp_path / "image") == [
        {
            "inputs": 128,
            "outputs": 128,
            "kernel": [3, 3],
            "dilations": [1, 1],
            "result": [16, 16],
        }
    ]
    dilated = convolved(8, (7,), (50,), dilations=[3])
    assert facts(dilated, tmp_path / "dilated") == [
        {"inputs": 8, "outputs": 8, "kernel": [7], "dilations": [3], "result": [38]}
    ]
    others = [
        convolved(8, (3, 3), (16, 16), strides=[2, 2]),
        convolved(8, (3, 3), (16, 16), group=2),
        convolved(8, (1, 1), (16, 16)),
    ]
    for number, model in enumerate(others):
        assert facts(model, tmp_path / str(number)) == []


def image(inputs: int, outputs: int, rows: int, columns: int) -> ConvolutionSizes:
    return ConvolutionSizes(inputs, outputs, (3, 3), (1, 1), (rows, columns))


def sequence(channels: int, kernel: int, length: int) -> ConvolutionSizes:
    return ConvolutionSizes(channels, channels, (kernel,), (1,), (length,))


@pytest.mark.parametrize(
    ("sizes", "is_offered"),
    [
        ([], False),
        ([image(16, 16, 56, 56)], False),
        ([image(3, 64, 224, 224), image(256, 256, 28, 28)], True),
        # Open rows and columns count as one.
        ([image(256, 256, 1, 1)], False),
        ([image(0, 256, 28, 28)], False),
        ([replace(image(256, 256, 28, 28), dilations=(2, 2))], False),
        ([replace(image(256, 256, 28, 28), kernel=(5, 5))], False),
        ([sequence(64, 11, 200)], True),
        ([sequence(64, 3, 200)], False),
        ([sequence(8, 11, 200)], False),
        ([sequence(64, 11, 1)], False),
        ([ConvolutionSizes(8, 8, (3, 3, 3), (1, 1, 1), (8, 8, 8))], False),
    ],
    ids=str,
)
def test_a_network_that_has_nothing_to_rewrite_is_not_offered_it(
    tmp_path: Path, sizes: list[ConvolutionSizes], *, is_offered: bool
) -> None:
    cnn = network_of(networks.residual_cnn, tmp_path)
    network = replace(cnn, convolutions=tuple(sizes))
    assert ("fast-convolutions" in values(network, X86, "artefact")) == is_offered


@pytest.mark.parametrize(
    ("model", "algorithm"),
    [(IMAGE, "winograd"), (SEQUENCE, "fourier"), (OPEN_SEQUENCE, "fourier")],
    ids=["image", "sequence", "open sequence"],
)
def test_the_backend_builds_what_its_space_offers(
    tmp_path: Path, model: onnx.ModelProto, algorithm: str
) -> None:
    network = networks.write(model, tmp_path / "model")
    convolutions = convolution_sizes(facts(model, tmp_path / "facts"))
    network = replace(network, convolutions=convolutions)
    space = space_of(network, X86)
    options = next(o for o in space.promising if o.get("artefact") == "fast-convolutions")
    assert space.contains(options)
    made = OnnxRuntimeBackend().make(network, X86, options, tmp_path)
    assert (made.tolerance, made.provenance) == ("exact", {"rewrites": {algorithm: 1}})
    shape = [value.dim_value or 60 for value in model.graph.input[0].type.tensor_type.shape.dim[1:]]
    x = RNG.standard_normal((2, *shape)).astype(np.float32)
    expected, result = (
        ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for path in (network.model_path, tmp_path / made.entry_point)
    )
    assert np.linalg.norm(result - expected) < 1e-5 * np.linalg.norm(expected)


def test_a_build_without_gain_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(convolved(16, (3, 3), (16, 16)).SerializeToString())
    with pytest.raises(InvalidCandidate, match="no convolution"):
        save_rewritten(path, tmp_path / "out.onnx", "fast-convolutions")


def test_growth_is_bounded_by_what_protobuf_and_this_process_write(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(IMAGE.SerializeToString())
    assert 0 < most_added_bytes(path) < 1_800_000_000 - path.stat().st_size
