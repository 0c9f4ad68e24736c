"""A decoder of transformers with its cache of keys and values as inputs and outputs.

Tensors have the names of :mod:`hpcfair.decoder`.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from hpcfair.decoder import LOGITS, POSITIONS
from hpcfair.sources import IDS, MASK
from workers.conversion.errors import raise_lack_of_memory
from workers.conversion.inputs import BATCH, WORDS, Array, InputSpec, Sizes, token_spec
from workers.conversion.wrapper import Selected

PAST_LENGTH, MASK_LENGTH = "past_sequence", "past_sequence + sequence"
_PAST, _PRESENT = "past_key_values", "present"
#: Layers that keep keys and values of single tokens. Those that keep a window are given all tokens:
#: the mask of the model leaves the others out.
_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer)
PROBE_TOKENS = 3
#: Of models that continue texts about pictures and sounds, which are exported with these inputs.
_OTHER_INPUTS = frozenset({"pixel_values", "input_features", "input_values"})
#: Dimensions of keys: batch, heads, tokens, size.
_RANK = 4


class CachedDecoder(Selected):
    """``model`` as a function of new tokens and of the cache of earlier ones."""

    def results(self, *tensors: torch.Tensor) -> Mapping[str, Any]:
        named = dict(zip(self.inputs, tensors, strict=True))
        past = [named.pop(name) for name in self.inputs if name.startswith(_PAST)]
        cache = DynamicCache()
        for keys, values in zip(past[::2], past[1::2], strict=True):
            cache.layers.append(cache_layer(keys, values))
        result = self.model(**named, past_key_values=cache, **self.options)
        present = {
            f"{_PRESENT}.{number}.{what}": tensor
            for number, layer in enumerate(result[_PAST].layers)
            for what, tensor in (("key", layer.keys), ("value", layer.values))
        }
        return {LOGITS: result[LOGITS], **present}


def decoder_specs(model: Any) -> dict[str, InputSpec]:
    """The inputs of a decoder with its cache; empty for a model that has none of this kind."""
    parameters = inspect.signature(model.forward).parameters
    is_decoder = type(model).__name__ in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values()
    has_cache = {IDS, MASK, _PAST, "use_cache"} <= set(parameters)
    if not is_decoder or not has_cache or _OTHER_INPUTS & set(parameters):
        return {}
    cache = cache_shapes(lambda: _probe(model))
    if not cache:
        return {}
    specs = {
        IDS: token_spec(model.config.get_text_config()),
        MASK: InputSpec(_mask, {0: BATCH, 1: MASK_LENGTH}),
    }
    if POSITIONS in parameters:
        specs[POSITIONS] = InputSpec(_positions, {0: BATCH, 1: WORDS})
    for number, shapes in enumerate(cache):
        for what, (_, heads, _, size) in zip(("key", "value"), shapes, strict=True):
            axes = {0: BATCH, 2: PAST_LENGTH}
            specs[f"{_PAST}.{number}.{what}"] = InputSpec(cache_maker(heads, size), axes)
    return specs


def cache_layer(keys: torch.Tensor, values: torch.Tensor) -> DynamicLayer:
    """A layer of a cache of transformers that holds keys and values."""
    layer = DynamicLayer()
    layer.lazy_initialization(keys, values)
    layer.keys, layer.values = keys, values
    return layer


def cache_shapes(
    run: Callable[[], list[Any]], lengths: Collection[int] = (PROBE_TOKENS,)
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Shapes of keys and values by layer; empty if the model keeps anything else.

    Args:
        run: Runs the model on :data:`PROBE_TOKENS` tokens and returns the layers of its cache.
        lengths: How many tokens such a layer may have.
    """
    try:
        with torch.no_grad():
            layers = run()
        if not all(type(layer) in _LAYERS for layer in layers):
            return []
        shapes = [(tuple(layer.keys.shape), tuple(layer.values.shape)) for layer in layers]
    # Models raise arbitrary exceptions; without a cache they may work.
    except Exception as error:  # noqa: BLE001
        raise_lack_of_memory(error)
        return []
    are_usual = all(
        len(shape) == _RANK and shape[2] in lengths for pair in shapes for shape in pair
    )
    return shapes if are_usual else []


def _probe(model: Any) -> list[Any]:
    result = model(torch.zeros(1, PROBE_TOKENS, dtype=torch.long), use_cache=True)
    return list(result[_PAST].layers)


def _mask(sizes: Sizes, _: np.random.Generator) -> Array:
    """Texts of different lengths end together: each but the first one is filled up in front."""
    mask = np.ones((sizes.batch, sizes.past + sizes.words), np.int64)
    for row in range(sizes.batch):
        mask[row, :row] = 0
    return mask


def _positions(sizes: Sizes, _: np.random.Generator) -> Array:
    positions = np.arange(sizes.past, sizes.past + sizes.words, dtype=np.int64)
    return np.tile(positions, (sizes.batch, 1))


def cache_maker(heads: int, size: int) -> Callable[[Sizes, np.random.Generator], Array]:
    return lambda sizes, rng: rng.standard_normal(
        (sizes.batch, heads, sizes.past, size), np.float32
    )
