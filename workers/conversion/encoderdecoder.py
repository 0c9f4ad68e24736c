"""An encoder-decoder of transformers as one network, with its caches as inputs and outputs.

Tensors have the names of :mod:`hpcfair.decoder`. The keys and values of the source are appended to
those in the cache: the first run has the source and an empty cache, later ones an empty source. The
encoder then runs on nothing.
"""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache, EncoderDecoderCache
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
)

from hpcfair.decoder import ANSWER, LOGITS
from hpcfair.sources import FEATURES, IDS, MASK, states_of
from workers.conversion.decoder import (
    PROBE_TOKENS,
    CachedDecoder,
    cache_layer,
    cache_maker,
    cache_shapes,
)
from workers.conversion.inputs import BATCH, Array, InputSpec, Sizes, token_spec
from workers.conversion.shapes import spectrum_shape

SOURCE, PAST_SOURCE = "source", "past_source"
_ANSWER_LENGTH, _PAST_LENGTH = "sequence", "past_sequence"
#: Inputs of a decoder's layer in the cache, in their order.
_PARTS = ("decoder.key", "decoder.value", "encoder.key", "encoder.value")
_MOST_SOUNDS = 2


class CachedEncoderDecoder(CachedDecoder):
    """``model`` as a function of a source, new tokens, and of the caches of earlier ones."""

    def results(self, *tensors: torch.Tensor) -> Mapping[str, Any]:
        named = dict(zip(self.inputs, tensors, strict=True))
        past = [named[name] for name in self.inputs if name.startswith("past_key_values")]
        layers = list(zip(*(past[part::4] for part in range(4)), strict=True))
        source = named.get(IDS, named.get(FEATURES))
        assert source is not None  # noqa: S101  by encoder_decoder_specs
        # Exported programs take the way of a source that is not empty: PyTorch's models cannot run
        # on an empty one, though their operators can.
        is_empty = source.shape[1] == 0
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        for number, (keys, values, source_keys, source_values) in enumerate(layers):
            cache.self_attention_cache.layers.append(cache_layer(keys, values))
            cache.cross_attention_cache.layers.append(cache_layer(source_keys, source_values))
            cache.is_updated[number] = is_empty
        mask = named.get(MASK)
        past_source = layers[0][2].shape[2]
        if is_empty:
            # Those in the cache are taken.
            states = layers[0][2].new_zeros(len(source), 1, 1)
        else:
            states = self._states(source, None if mask is None else mask[:, past_source:])
        if mask is not None:
            # The model would cut a mask to the length of the states.
            least = torch.finfo(states.dtype).min
            mask = (1 - mask[:, None, None, :].to(states.dtype)) * least
        result = self.model(
            encoder_outputs=(states,),
            attention_mask=mask,
            decoder_input_ids=named[ANSWER],
            past_key_values=cache,
            **self.options,
        )
        return {LOGITS: result[LOGITS], **_present(result["past_key_values"])}

    def _states(self, source: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """States of the encoder; those of several sounds of a row behind one another."""
        model: Any = self.model
        encoder = model.get_encoder()
        if mask is not None:
            states: torch.Tensor = encoder(source, attention_mask=mask).last_hidden_state
            return states
        states = encoder(source.flatten(0, 1)).last_hidden_state
        rows, sounds = source.shape[:2]
        return states.reshape(rows, sounds * states.shape[1], states.shape[2])


def encoder_decoder_specs(model: Any) -> dict[str, InputSpec]:
    """The inputs of an encoder-decoder with its caches; empty for another model."""
    texts = set(MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES.values())
    sounds = set(MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES.values())
    parameters = inspect.signature(model.forward).parameters
    has_cache = {ANSWER, "encoder_outputs", "past_key_values", "use_cache"} <= set(parameters)
    name = type(model).__name__
    if not has_cache or name not in texts | sounds:
        return {}
    source = _text_specs(model) if name in texts else _sound_specs(model)
    cache = _cache_specs(model, source) if source else {}
    return {**source, **cache} if cache else {}


def _text_specs(model: Any) -> dict[str, InputSpec]:
    if not {IDS, MASK} <= set(inspect.signature(model.forward).parameters):
        return {}
    return {
        IDS: replace(token_spec(model.config), axes={0: BATCH, 1: SOURCE}),
        MASK: InputSpec(_mask, {0: BATCH, 1: f"{PAST_SOURCE} + {SOURCE}"}),
    }


def _sound_specs(model: Any) -> dict[str, InputSpec]:
    shape = spectrum_shape(model.config)
    if model.main_input_name != FEATURES or "max_source_positions" not in model.config.to_dict():
        return {}

    def make(sizes: Sizes, rng: np.random.Generator) -> Array:
        sounds = min(sizes.words, _MOST_SOUNDS)
        return rng.standard_normal((sizes.batch, sounds, *shape), np.float32)

    return {FEATURES: InputSpec(make, {0: BATCH, 1: SOURCE})}


def _cache_specs(model: Any, source: Mapping[str, InputSpec]) -> dict[str, InputSpec]:
    """The new tokens and the caches; empty if the model keeps anything else."""
    frames = spectrum_shape(model.config)[1:] if FEATURES in source else ()
    lengths = {PROBE_TOKENS, *(states_of(number) for number in frames)}
    shapes = cache_shapes(lambda: _probe(model, source), lengths)
    if not shapes:
        return {}
    answer = token_spec(model.config).make
    specs = {
        ANSWER: InputSpec(
            lambda sizes, rng: answer(replace(sizes, words=sizes.answer), rng),
            {0: BATCH, 1: _ANSWER_LENGTH},
        )
    }
    half = len(shapes) // 2
    for number, (own, others) in enumerate(zip(shapes[:half], shapes[half:], strict=True)):
        for part, (_, heads, _, size) in zip(_PARTS, (*own, *others), strict=True):
            length = _PAST_LENGTH if part.startswith("decoder") else PAST_SOURCE
            axes = {0: BATCH, 2: length}
            specs[f"past_key_values.{number}.{part}"] = InputSpec(cache_maker(heads, size), axes)
    return specs


def _probe(model: Any, source: Mapping[str, InputSpec]) -> list[Any]:
    """The layers of the caches after a run: those of the tokens, then those of the source."""
    tokens = torch.zeros(1, PROBE_TOKENS, dtype=torch.long)
    if FEATURES in source:
        inputs = {FEATURES: torch.zeros(1, *spectrum_shape(model.config))}
    else:
        inputs = {IDS: tokens}
    cache = model(**inputs, decoder_input_ids=tokens, use_cache=True).past_key_values
    return [*cache.self_attention_cache.layers, *cache.cross_attention_cache.layers]


def _mask(sizes: Sizes, _: np.random.Generator) -> Array:
    """Sources of different lengths begin together: each but the first one is filled up behind."""
    mask = np.ones((sizes.batch, sizes.past + sizes.words), np.int64)
    for row in range(1, sizes.batch):
        mask[row, -row:] = 0
    return mask


def _present(cache: Any) -> dict[str, torch.Tensor]:
    layers = zip(cache.self_attention_cache.layers, cache.cross_attention_cache.layers, strict=True)
    return {
        f"present.{number}.{part}": tensor
        for number, (own, others) in enumerate(layers)
        for part, tensor in zip(
            _PARTS, (own.keys, own.values, others.keys, others.values), strict=True
        )
    }
