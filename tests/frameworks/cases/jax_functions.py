"""Cases of JAX and Flax."""

from typing import Any

import jax
import numpy as np
from flax import linen, nnx

from tests.frameworks.cases.live import NEW, Live


def function() -> Live:
    """A function of two arrays, whose weights are a tree."""
    rng = np.random.default_rng(0)
    layers = [{"w": rng.normal(size=(4, 4)).astype(np.float32), "b": np.ones(4, np.float32)}] * 2

    def network(weights: Any, left: Any, right: Any) -> Any:
        for layer in weights:
            left = jax.numpy.tanh(left @ layer["w"] + layer["b"])
        return {"field": left, "pair": (left * right).sum(axis=1)}

    applied = jax.jit(lambda left, right: network(layers, left, right))
    right = NEW[::-1].copy()
    outputs = {name: np.asarray(value) for name, value in applied(NEW, right).items()}
    return Live(applied, (NEW, right), {"left": NEW, "right": right}, outputs)


class Nnx(nnx.Module):  # type: ignore[misc]
    """Normalisation and dropout."""

    def __init__(self) -> None:
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.second = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, table: Any) -> Any:
        hidden = self.drop(nnx.relu(self.norm(self.first(table))))
        return nnx.softmax(self.second(hidden))


def nnx_module() -> Live:
    """A module in training mode."""
    model = Nnx()
    copy = nnx.clone(model)
    copy.eval()
    return Live(model, (NEW,), {"table": NEW}, {"output": np.asarray(copy(NEW))})


class Linen(linen.Module):  # type: ignore[misc]
    """Two layers."""

    @linen.compact
    def __call__(self, table: Any) -> Any:
        return linen.Dense(3)(linen.gelu(linen.LayerNorm()(linen.Dense(8)(table))))


def linen_module() -> Live:
    """A module bound to its weights."""
    module = Linen()
    bound = module.bind(module.init(jax.random.key(0), NEW[:1]))
    return Live(bound, (NEW,), {"table": NEW}, {"output": np.asarray(bound(NEW))})
