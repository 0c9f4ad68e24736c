"""Networks whose arithmetic or traffic is known exactly. Imported in child processes only.

Inputs and outputs are single numbers, so that copies to and from an accelerator cost nothing.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# The oldest versions that every runtime reads; QuantizeLinear needs 13 for int8 weights.
_OPSET: Final = 13
_IR_VERSION: Final = 7
#: Scale of int8 values between -1 and 1.
_SCALE: Final = 1 / 127


def write_products(path: str, size: int, layers: int, *, is_int8: bool) -> None:
    """Write ``y = mean(relu(... relu(X @ w0) ... @ wn))``, with all of X the input ``x``.

    Matrices are square, ``[size, size]``. With ``is_int8`` they are quantised in the form (Q, DQ)
    that runtimes turn into integer kernels. Weights are random, so that no runtime can shorten the
    products, and scaled so that values stay near 1.
    """
    rng = np.random.default_rng(0)
    nodes = [helper.make_node("Expand", ["x", "shape"], ["h0"])]
    constants: dict[str, Any] = {"shape": np.asarray([size, size], np.int64)}
    if is_int8:
        constants |= {"scale": np.float32(_SCALE), "zero": np.uint8(0), "zero_w": np.int8(0)}
    for layer in range(layers):
        before, after, weight = f"h{layer}", f"h{layer + 1}", f"w{layer}"
        values = (rng.standard_normal((size, size)) * np.sqrt(2 / size)).astype(np.float32)
        if is_int8:
            constants[f"{weight}_q"] = np.clip(np.rint(values / _SCALE), -127, 127).astype(np.int8)
            nodes += [
                helper.make_node("QuantizeLinear", [before, "scale", "zero"], [f"{before}_q"]),
                helper.make_node(
                    "DequantizeLinear", [f"{before}_q", "scale", "zero"], [f"{before}_d"]
                ),
                helper.make_node(
                    "DequantizeLinear", [f"{weight}_q", "scale", "zero_w"], [f"{weight}_d"]
                ),
            ]
            before, weight = f"{before}_d", f"{weight}_d"
        else:
            constants[weight] = values
        nodes += [
            helper.make_node("MatMul", [before, weight], [f"p{layer}"]),
            helper.make_node("Relu", [f"p{layer}"], [after]),
        ]
    nodes.append(helper.make_node("ReduceMean", [f"h{layers}"], ["y"], keepdims=0))
    _save(path, "products", nodes, constants)


def write_traffic(path: str, elements: int, layers: int) -> None:
    """Write ``y = mean(-(-(... X)))`` with ``layers`` negations of ``elements`` float32 numbers."""
    nodes = [helper.make_node("Expand", ["x", "shape"], ["h0"])]
    nodes += [helper.make_node("Neg", [f"h{n}"], [f"h{n + 1}"]) for n in range(layers)]
    nodes.append(helper.make_node("ReduceMean", [f"h{layers}"], ["y"], keepdims=0))
    _save(path, "traffic", nodes, {"shape": np.asarray([elements], np.int64)})


def _save(path: str, name: str, nodes: list[Any], constants: dict[str, Any]) -> None:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()],
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
    Path(path).write_bytes(model.SerializeToString())
