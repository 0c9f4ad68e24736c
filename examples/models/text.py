"""BERT as a classifier of texts (Devlin et al. 2018, section 3), as exporters write it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto

from examples.models.graph import Graph

_CLS, _SEP, _FIRST_WORD = 101, 102, 999
#: BERT's addition to the score of a position without token, which then gets no attention.
_MASKED = -10_000.0


@dataclass(frozen=True, slots=True)
class Bert:
    """Sizes of a BERT; the defaults are BERT-small's (Turc et al. 2019, table 1)."""

    layers: int = 4
    width: int = 512
    heads: int = 8
    vocabulary: int = 30_522
    sequence: int = 128
    classes: int = 8

    def model(self, rng: np.random.Generator) -> onnx.ModelProto:
        """``input_ids, attention_mask int64[N, sequence]`` to ``logits float32[N, classes]``.

        Weights preserve variance, so that attention is neither flat, as with BERT's initial
        deviation of 0.02, nor on one token alone.
        """
        g = Graph("bert", rng)
        ids = g.input("input_ids", ["N", self.sequence], TensorProto.INT64)
        mask = g.input("attention_mask", ["N", self.sequence], TensorProto.INT64)
        masked = self._masked_scores(g, mask)
        x = self._embedded(g, ids)
        for layer in range(self.layers):
            x = self._layer(g, f"bert.encoder.layer.{layer}", x, masked)
        first = g.constant("bert.pooler.first", 0, np.int64)
        x = g.op("Gather", "bert.pooler", x, first, axis=1)
        x = g.gemm("bert.pooler.dense", x, (self.width, self.width))
        x = g.op("Tanh", "bert.pooler.activation", x)
        logits = g.output("logits", ["N", self.classes])
        g.gemm("classifier", x, (self.width, self.classes), out=logits)
        return g.model()

    def texts(self, rng: np.random.Generator, count: int) -> dict[str, npt.NDArray[np.int64]]:
        """Random texts of half to full length by input name, drawn by Zipf's law (Zipf 1949)."""
        lengths = rng.integers(self.sequence // 2, self.sequence + 1, count)
        lengths[0] = self.sequence
        first = min(_FIRST_WORD, self.vocabulary // 2)
        words = first + rng.zipf(1.2, (count, self.sequence)) % (self.vocabulary - first)
        ids = words.astype(np.int64)
        positions = np.arange(self.sequence)
        ids[:, 0] = min(_CLS, first - 2)
        ids[np.arange(count), lengths - 1] = min(_SEP, first - 1)
        mask = (positions < lengths[:, None]).astype(np.int64)
        return {"input_ids": ids * mask, "attention_mask": mask}

    def _masked_scores(self, g: Graph, mask: str) -> str:
        """``[N, 1, 1, sequence]`` to add to attention scores: 0, or very negative."""
        scope = "bert"
        axes = (g.constant(f"bert.mask.axis{axis}", [axis], np.int64) for axis in (1, 2))
        for axis in axes:
            mask = g.op("Unsqueeze", scope, mask, axis)
        present = g.op("Cast", scope, mask, to=TensorProto.FLOAT)
        absent = g.op("Sub", scope, g.constant("bert.mask.one", 1.0), present)
        return g.op("Mul", scope, absent, g.constant("bert.mask.score", _MASKED))

    def _embedded(self, g: Graph, ids: str) -> str:
        scope = "bert.embeddings"
        words = g.normal(f"{scope}.word_embeddings.weight", (self.vocabulary, self.width), 1.0)
        x = g.op("Gather", f"{scope}.word_embeddings", words, ids)
        kind = g.normal(f"{scope}.token_type_embeddings", (1, 1, self.width), 0.3)
        x = g.op("Add", scope, x, kind)
        place = g.normal(f"{scope}.position_embeddings", (1, self.sequence, self.width), 0.3)
        return g.layer_norm(f"{scope}.LayerNorm", g.op("Add", scope, x, place), self.width)

    def _layer(self, g: Graph, scope: str, x: str, masked: str) -> str:
        attended = self._attention(g, f"{scope}.attention", x, masked)
        joined = g.op("Add", f"{scope}.attention.output", attended, x)
        x = g.layer_norm(f"{scope}.attention.output.LayerNorm", joined, self.width)
        inner = g.linear(f"{scope}.intermediate.dense", x, (self.width, 4 * self.width))
        inner = _gelu(g, f"{scope}.intermediate", inner)
        inner = g.linear(f"{scope}.output.dense", inner, (4 * self.width, self.width))
        joined = g.op("Add", f"{scope}.output", inner, x)
        return g.layer_norm(f"{scope}.output.LayerNorm", joined, self.width)

    def _attention(self, g: Graph, scope: str, x: str, masked: str) -> str:
        inside = f"{scope}.self"
        size = self.width // self.heads
        query, key, value = (
            self._split(g, f"{inside}.{name}", x, order)
            for name, order in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        scores = g.op("MatMul", inside, query, key)
        scores = g.op("Div", inside, scores, g.constant(f"{inside}.scale", size**0.5))
        shares = g.op("Softmax", inside, g.op("Add", inside, scores, masked), axis=-1)
        mixed = g.op("MatMul", inside, shares, value)
        mixed = g.op("Transpose", inside, mixed, perm=[0, 2, 1, 3])
        shape = g.constant(f"{inside}.shape", [0, 0, self.width], np.int64)
        mixed = g.op("Reshape", inside, mixed, shape)
        return g.linear(f"{scope}.output.dense", mixed, (self.width, self.width))

    def _split(self, g: Graph, scope: str, x: str, order: list[int]) -> str:
        """Project and cut into heads, axes in ``order`` of batch, position, head, feature."""
        x = g.linear(scope, x, (self.width, self.width))
        heads = [0, 0, self.heads, self.width // self.heads]
        shape = g.constant(f"{scope}.shape", heads, np.int64)
        return g.op("Transpose", scope, g.op("Reshape", scope, x, shape), perm=order)


def _gelu(g: Graph, scope: str, x: str) -> str:
    """``x / 2 * (1 + erf(x / sqrt 2))`` (Hendrycks and Gimpel 2016), as exporters spell it."""
    scope = f"{scope}.intermediate_act_fn"
    scaled = g.op("Div", scope, x, g.constant(f"{scope}.root", 2**0.5))
    raised = g.op("Add", scope, g.op("Erf", scope, scaled), g.constant(f"{scope}.one", 1.0))
    return g.op("Mul", scope, g.op("Mul", scope, x, raised), g.constant(f"{scope}.half", 0.5))
