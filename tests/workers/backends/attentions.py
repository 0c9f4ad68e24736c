"""A network of one attention, in the forms that exporters write."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from workers.engine.ports import Array

HEADS, SIZE = 4, 8
#: Known positions, of which there are enough to fuse attention.
LONG = 130
WIDTH = HEADS * SIZE
RNG = np.random.default_rng(0)
Shape = tuple[int | str, ...]
MASK: Shape = ("B", 1, "S", "T")


@dataclass
class AttentionNetwork:
    """Attention of ``x`` [B, S, WIDTH] to ``source`` [B, T, WIDTH], with products of its own.

    Attributes:
        keys: Way in which keys become columns: ``columns``, ``scaled`` or ``matrices``.
        sizes: Whether heads are ``constant`` or left to ``Reshape``, as the older exporter does.
        mask: Shape of the input ``mask``, a constant, or nothing.
        guarded: Whether NaN behind the softmax is replaced by zero.
        rotated: Whether something is added behind the transposition of queries and keys.
        groups: Heads of keys and values.
        repeats: Whether these are repeated for all heads of queries.
        result: ``transposed``, ``reshaped`` before that to its own shape, or ``kept``.
        outputs: What the network returns.
        length: Positions of ``source``.
    """

    keys: str = "columns"
    sizes: str = "constant"
    mask: Shape | Array | None = MASK
    guarded: bool = False
    rotated: bool = False
    groups: int = HEADS
    repeats: bool = True
    result: str = "transposed"
    outputs: tuple[str, ...] = ("y",)
    length: int | str = "T"
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def constant(self, name: str, value: Any) -> str:
        self.arrays[name] = np.asarray(value)
        return name

    def split(self, name: str, source: str, heads: int) -> str:
        """A product of ``source`` as [batch, length, heads, SIZE]."""
        shape = (WIDTH, heads * SIZE)
        weights = self.constant(name, RNG.standard_normal(shape).astype(np.float32) / 4)
        whole = self.add("MatMul", [source, weights], f"{name}_all")
        if self.sizes == "constant":
            target = self.constant(f"{name}_sizes", [0, 0, heads, SIZE])
        else:
            shape_of = self.add("Shape", [whole], f"{name}_shape")
            front = self.add("Gather", [shape_of, self.constant("front", [0, 1])], f"{name}_front")
            back = self.constant(f"{name}_back", [-1, SIZE])
            target = self.add("Concat", [front, back], f"{name}_sizes", axis=0)
        return self.add("Reshape", [whole, target], f"{name}_split")

    def heads_first(self, name: str, rows: str) -> str:
        result = self.add("Transpose", [rows], f"{name}_t", perm=[0, 2, 1, 3])
        if self.rotated and name in "qk":
            place = self.constant(f"{name}_place", RNG.standard_normal(SIZE).astype(np.float32))
            result = self.add("Add", [result, place], f"{name}_rotated")
        if name in "kv" and self.groups != HEADS and self.repeats:
            repeats = HEADS // self.groups
            axis = self.constant("axis", [2])
            deep = self.add("Unsqueeze", [result, axis], f"{name}_deep")
            target = self.constant("repeats", [1, 1, repeats, 1, 1])
            many = self.add("Expand", [deep, target], f"{name}_many")
            shape = self.add("Shape", [result], f"{name}_few")
            length = self.add("Gather", [shape, axis], f"{name}_length", axis=0)
            ends = [self.constant("zero_all", [0, HEADS]), self.constant("size", [SIZE])]
            target = self.add("Concat", [ends[0], length, ends[1]], f"{name}_target", axis=0)
            result = self.add("Reshape", [many, target], f"{name}_repeated")
        return result

    def columns(self, rows: str) -> str:
        if self.keys == "columns":
            return self.add("Transpose", [rows], "columns", perm=[0, 2, 3, 1])
        heads = self.heads_first("k", rows)
        if self.keys == "scaled":
            heads = self.add("Mul", [heads, "half"], "k_half")
            return self.add("Transpose", [heads], "columns", perm=[0, 1, 3, 2])
        flat = self.add("Reshape", [heads, self.constant("flat", [-1, LONG, SIZE])], "k_flat")
        turned = self.add("Transpose", [flat], "k_turned", perm=[0, 2, 1])
        return self.add(
            "Reshape", [turned, self.constant("unflat", [-1, HEADS, SIZE, LONG])], "columns"
        )

    def model(self) -> onnx.ModelProto:
        self.constant("half", np.float32(0.5))
        self.constant("zero", np.float32(0))
        queries = self.heads_first("q", self.split("q", "x", HEADS))
        columns = self.columns(self.split("k", "source", self.groups))
        values = self.heads_first("v", self.split("v", "source", self.groups))
        self.add("MatMul", [queries, columns], "products")
        scores = self.add("Mul", ["products", "half"], "scaled")
        if self.mask is not None:
            if isinstance(self.mask, np.ndarray):
                self.constant("mask", self.mask)
            scores = self.add("Add", [scores, "mask"], "sums")
        weights = self.add("Softmax", [scores], "weights", axis=-1)
        if self.guarded:
            self.add("IsNaN", [weights], "undefined")
            weights = self.add("Where", ["undefined", "zero", weights], "guarded")
        result = self.add("MatMul", [weights, values], "sum")
        if self.result == "reshaped":
            sizes = self.add("Shape", [result], "sum_shape")
            parts = [
                self.add("Gather", [sizes, self.constant(f"{n}", [n])], f"s{n}") for n in (0, 2)
            ]
            ends = [self.constant("free", [-1]), self.constant("last", [SIZE])]
            order = [parts[0], ends[0], parts[1], ends[1]]
            target = self.add("Concat", order, "sum_sizes", axis=0)
            result = self.add("Reshape", [result, target], "sum_reshaped")
        if self.result != "kept":
            result = self.add("Transpose", [result], "sum_t", perm=[0, 2, 1, 3])
        self.add("Reshape", [result, self.constant("join", [0, 0, -1])], "y")
        value = helper.make_tensor_value_info
        inputs = [value("x", TensorProto.FLOAT, ["B", "S", WIDTH])]
        inputs.append(value("source", TensorProto.FLOAT, ["B", self.length, WIDTH]))
        if isinstance(self.mask, tuple):
            inputs.append(value("mask", TensorProto.FLOAT, self.mask))
        graph = helper.make_graph(
            self.nodes,
            "attention",
            inputs,
            [value(name, TensorProto.FLOAT, None) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self.arrays.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
