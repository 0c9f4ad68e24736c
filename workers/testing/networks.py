"""Small networks with seeded random weights, and networks with one defect each, made on demand."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from workers.engine.ports import Array
from workers.engine.types import Network, TensorSpec, sha256_of

_IR_VERSION = 8
_Tensor = tuple[str, Sequence[int | str]]
_DTYPES: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.INT64: "int64",
    TensorProto.STRING: "string",
}


class _Weights:
    """Collects initialisers; random weights preserve the scale of activations (He et al. 2015)."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.tensors: list[TensorProto] = []

    def random(self, name: str, *shape: int, fan_in: int) -> str:
        return self.add(name, self._rng.standard_normal(shape) * (2 / fan_in) ** 0.5)

    def add(self, name: str, values: Array) -> str:
        dtype = np.int64 if values.dtype.kind == "i" else np.float32
        self.tensors.append(numpy_helper.from_array(values.astype(dtype), name))
        return name


def mlp(seed: int = 0) -> onnx.ModelProto:
    """``float32[N,8] -> float32[N,10]``: three dense layers."""
    weights = _Weights(seed)
    sizes = (8, 32, 32, 10)
    nodes, last = [], "x"
    for layer in range(3):
        w = weights.random(f"w{layer}", sizes[layer], sizes[layer + 1], fan_in=sizes[layer])
        b = weights.random(f"b{layer}", sizes[layer + 1], fan_in=50)
        out = "scores" if layer == 2 else f"sum{layer}"
        nodes.append(helper.make_node("Gemm", [last, w, b], [out]))
        if layer < 2:
            nodes.append(helper.make_node("Relu", [out], [f"relu{layer}"]))
            last = f"relu{layer}"
    return _model(nodes, weights, [("x", ["N", 8])], [("scores", ["N", 10])])


def residual_cnn(seed: int = 0, opset: int = 17) -> onnx.ModelProto:
    """``float32[N,3,16,16] -> float32[N,10]``: convolutions, batch normalisation, a shortcut."""
    weights = _Weights(seed)
    head = weights.random("head", 16, 10, fan_in=16)
    nodes = [
        *_convolution(weights, "stem", "x", 3, 16),
        helper.make_node("MaxPool", ["stem"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        *_convolution(weights, "inner", "pooled", 16, 16),
        helper.make_node("Add", ["inner", "pooled"], ["joined"]),
        helper.make_node("Relu", ["joined"], ["active"]),
        helper.make_node("GlobalAveragePool", ["active"], ["means"]),
        helper.make_node("Flatten", ["means"], ["flat"]),
        helper.make_node("MatMul", ["flat", head], ["scores"]),
    ]
    inputs: list[_Tensor] = [("x", ["N", 3, 16, 16])]
    return _model(nodes, weights, inputs, [("scores", ["N", 10])], opset=opset)


def transformer(seed: int = 0) -> onnx.ModelProto:
    """``int64[N,S] -> float32[N,10]``: embedding, one attention head, a dense layer, the mean."""
    weights = _Weights(seed)
    width = 32
    square = {
        name: weights.random(name, width, width, fan_in=2 * width) for name in ("q", "k", "v", "o")
    }
    nodes = [
        helper.make_node("Gather", [weights.random("table", 100, width, fan_in=2), "ids"], ["e"]),
        *(
            helper.make_node("MatMul", ["e", square[name]], [f"{name}e"])
            for name in ("q", "k", "v")
        ),
        helper.make_node("Transpose", ["ke"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["qe", "kt"], ["products"]),
        helper.make_node(
            "Mul", ["products", weights.add("scale", np.array(width**-0.5))], ["scaled"]
        ),
        helper.make_node("Softmax", ["scaled"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "ve"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", square["o"]], ["attended"]),
        helper.make_node("Add", ["attended", "e"], ["sum"]),
        helper.make_node(
            "LayerNormalization",
            ["sum", weights.add("gain", np.ones(width)), weights.add("shift", np.zeros(width))],
            ["normal"],
        ),
        helper.make_node("ReduceMean", ["normal"], ["mean"], axes=[1], keepdims=0),
        helper.make_node(
            "MatMul", ["mean", weights.random("head", width, 10, fan_in=width)], ["scores"]
        ),
    ]
    return _model(nodes, weights, [("ids", ["N", "S"])], [("scores", ["N", 10])], TensorProto.INT64)


def decoder(seed: int = 0) -> onnx.ModelProto:
    """A decoder with a cache of 20 tokens, with the names of :mod:`hpcfair.decoder`: one layer of
    attention whose keys are its values."""
    weights = _Weights(seed)
    table = weights.random("table", 20, 8, fan_in=8)
    one, both = weights.add("one", np.array([1])), weights.add("both", np.array([1, 2]))
    least = weights.add("least", np.array(-1e4))
    past, present = "past_key_values.0.key", "present.0.key"
    nodes = [
        helper.make_node("Gather", [table, "input_ids"], ["words"]),
        helper.make_node("Unsqueeze", ["words", one], ["new"]),
        helper.make_node("Concat", [past, "new"], [present], axis=2),
        helper.make_node("Transpose", [present], ["turned"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["new", "turned"], ["scores"]),
        helper.make_node("Cast", ["attention_mask"], ["kept"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kept", both], ["spread"]),
        helper.make_node("Sub", ["spread", "unit"], ["left"]),
        helper.make_node("Mul", ["left", least], ["hidden"]),
        helper.make_node("Sub", ["scores", "hidden"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", present], ["heads"]),
        helper.make_node("Squeeze", ["heads", one], ["mixed"]),
        helper.make_node("MatMul", ["mixed", weights.random("head", 8, 20, fan_in=8)], ["logits"]),
    ]
    weights.add("unit", np.array(1.0))
    integers: list[_Tensor] = [
        ("input_ids", ["batch", "sequence"]),
        ("attention_mask", ["batch", "total"]),
    ]
    cache = [helper.make_tensor_value_info(past, TensorProto.FLOAT, ["batch", 1, "past", 8])]
    outputs: list[_Tensor] = [
        ("logits", ["batch", "sequence", 20]),
        (present, ["batch", 1, "total", 8]),
    ]
    model = _model(nodes, weights, integers, outputs, TensorProto.INT64)
    model.graph.input.extend(cache)
    return model


def labelled(seed: int = 0) -> onnx.ModelProto:
    """``float32[N,8] -> float32[N,3], int64[N]``: scores, and the class of the largest."""
    weights = _Weights(seed)
    w = weights.random("w", 8, 3, fan_in=8)
    nodes = [
        helper.make_node("MatMul", ["x", w], ["scores"]),
        helper.make_node("ArgMax", ["scores"], ["label"], axis=1, keepdims=0),
    ]
    model = _model(nodes, weights, [("x", ["N", 8])], [("scores", ["N", 3])])
    label = helper.make_tensor_value_info("label", TensorProto.INT64, ["N"])
    model.graph.output.append(label)
    return model


def with_operator(operator: str, domain: str = "") -> onnx.ModelProto:
    """``float32[N,3] -> float32[N,3]`` through one operator, which may not exist."""
    node = helper.make_node(operator, ["x"], ["y"], domain=domain)
    return _model([node], _Weights(0), [("x", ["N", 3])], [("y", ["N", 3])])


def write(model: onnx.ModelProto, folder: Path, *, external_data: str = "") -> Network:
    """Save a network into an empty folder of its own, weights in the file ``external_data`` if
    named; returns its description as by inspection."""
    path = folder / "model.onnx"
    # ONNX makes no folders.
    (folder / external_data).parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    network = describe(model, path)
    onnx.save(
        model,
        path,
        save_as_external_data=bool(external_data),
        location=external_data or None,
        size_threshold=0,
    )
    return network


def _convolution(
    weights: _Weights, name: str, source: str, channels: int, filters: int
) -> list[onnx.NodeProto]:
    kernel = weights.random(f"{name}.w", filters, channels, 3, 3, fan_in=channels * 9)
    statistics = [
        weights.add(f"{name}.gain", np.full(filters, 0.9)),
        weights.add(f"{name}.shift", np.full(filters, 0.1)),
        weights.add(f"{name}.mean", np.full(filters, 0.2)),
        weights.add(f"{name}.variance", np.full(filters, 1.1)),
    ]
    return [
        helper.make_node("Conv", [source, kernel], [f"{name}.c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", [f"{name}.c", *statistics], [f"{name}.n"]),
        helper.make_node("Relu", [f"{name}.n"], [name]),
    ]


def _model(
    nodes: Sequence[onnx.NodeProto],
    weights: _Weights,
    inputs: Sequence[_Tensor],
    outputs: Sequence[_Tensor],
    takes: int = TensorProto.FLOAT,
    *,
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info(name, takes, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        weights.tensors,
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION)


def describe(model: onnx.ModelProto, path: Path) -> Network:
    """The description of the network at ``path`` that inspection would give."""
    operators = dict(Counter(node.op_type for node in model.graph.node))
    return Network(
        model_path=path,
        model_sha256=sha256_of(path.name),
        graph_hash=sha256_of(operators),
        architecture_class="other",
        inputs=tuple(map(_spec, model.graph.input)),
        outputs=tuple(map(_spec, model.graph.output)),
        operators=operators,
        parameters=sum(int(np.prod(tensor.dims)) for tensor in model.graph.initializer),
        macs=None,
    )


def _spec(value: onnx.ValueInfoProto) -> TensorSpec:
    tensor = value.type.tensor_type
    return TensorSpec(
        value.name,
        _DTYPES[tensor.elem_type],
        tuple(d.dim_param or d.dim_value for d in tensor.shape.dim),
    )
