"""Inputs that few architectures take, by the names of their parameters: boxes, features of regions,
points, series, states, entities. Shapes come from the configuration."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from workers.conversion import soundinputs
from workers.conversion.namedinput import Array, NamedInput, below, normal, ones, shares

_TEXT = ("batch", "sequence")
#: Words of the longest mention of an entity, as tokenisers fill them up.
_MENTION_WORDS = 30


def named_inputs(model: Any) -> dict[str, NamedInput]:
    """Inputs that ``model`` takes besides texts, pictures and sounds, all of which it needs."""
    makers = _MAKERS.get(model.config.model_type)
    return makers(model.config, type(model).__name__) if makers else {}


def _lxmert(config: Any, _: str) -> dict[str, NamedInput]:
    return {
        "visual_feats": NamedInput(("batch", "regions", config.visual_feat_dim), normal),
        "visual_pos": NamedInput(("batch", "regions", config.visual_pos_dim), shares),
    }


def _visual_bert(config: Any, _: str) -> dict[str, NamedInput]:
    return {"visual_embeds": NamedInput(("batch", "regions", config.visual_embedding_dim), normal)}


def _canine(config: Any, _: str) -> dict[str, NamedInput]:
    """Characters in place of words: of the letters, since there is no vocabulary."""
    return {
        "input_ids": NamedInput(_TEXT, lambda rng, shape: rng.integers(97, 123, shape)),
        "attention_mask": NamedInput(_TEXT, ones(np.int64)),
        "token_type_ids": NamedInput(_TEXT, below(config.type_vocab_size)),
    }


def _decision_transformer(config: Any, _: str) -> dict[str, NamedInput]:
    return {
        "states": NamedInput((*_TEXT, config.state_dim), normal),
        "actions": NamedInput((*_TEXT, config.act_dim), normal),
        "returns_to_go": NamedInput((*_TEXT, 1), normal),
        "timesteps": NamedInput(_TEXT, below(config.max_ep_len)),
        "attention_mask": NamedInput(_TEXT, ones(np.int64)),
    }


def _series(config: Any, _: str) -> dict[str, NamedInput]:
    """Transformers of time series: what was seen, and the future as it is fed step by step."""
    past, future = config.context_length + max(config.lags_sequence), config.prediction_length
    width = (config.input_size,) if config.input_size > 1 else ()
    inputs = {
        "past_values": NamedInput(("batch", past, *width), normal),
        "past_time_features": NamedInput(("batch", past, config.num_time_features), normal),
        "past_observed_mask": NamedInput(("batch", past, *width), ones(np.float32)),
        "future_values": NamedInput(("batch", future, *width), normal),
        "future_time_features": NamedInput(("batch", future, config.num_time_features), normal),
    }
    if count := config.num_static_categorical_features:
        least = min(config.cardinality)
        inputs["static_categorical_features"] = NamedInput(("batch", count), below(least))
    if count := config.num_static_real_features:
        inputs["static_real_features"] = NamedInput(("batch", count), normal)
    return inputs


def _timesfm(config: Any, _: str) -> dict[str, NamedInput]:
    """One series of a row, and how often it was measured: 0 for often, 2 for seldom."""
    return {
        "past_values": NamedInput(_TEXT, normal),
        "freq": NamedInput(("batch",), below(config.freq_size)),
    }


def _points(config: Any, _: str) -> dict[str, NamedInput]:
    side = getattr(config.vision_config, "image_size", None) or 1024
    side = side if isinstance(side, int) else side[0]

    def points(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return (rng.random(shape) * side).astype(np.float32)

    return {
        "input_points": NamedInput(("batch", 1, 1, 2), points),
        "input_labels": NamedInput(("batch", 1, 1), ones(np.int64)),
    }


def _pix2struct(config: Any, name: str) -> dict[str, NamedInput]:
    vision = getattr(config, "vision_config", config)
    if "Text" in name:
        return {}

    def patches(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        values = normal(rng, shape)
        # The first two numbers of a patch are its row and its column, from 1.
        values[..., :2] = rng.integers(1, min(16, vision.seq_len), (*shape[:-1], 2))
        return values

    width = 2 + vision.patch_embed_hidden_size
    return {
        "flattened_patches": NamedInput(("batch", "regions", width), patches),
        "attention_mask": NamedInput(("batch", "regions"), ones(np.float32)),
    }


def _perceiver(config: Any, name: str) -> dict[str, NamedInput]:
    if "ImageClassification" in name:
        side = config.image_size if "Learned" in name else 224
        return {"inputs": NamedInput(("batch", 3, side, side), normal)}
    if name.endswith(("MaskedLM", "SequenceClassification")):
        return {
            "inputs": NamedInput(_TEXT, below(config.vocab_size)),
            "attention_mask": NamedInput(_TEXT, ones(np.int64)),
        }
    return {}


def _tapas(config: Any, _: str) -> dict[str, NamedInput]:
    limits = np.array(config.type_vocab_sizes)
    # Large numbers of rows and columns describe tables that no short text has.
    return {
        "token_type_ids": NamedInput(
            (*_TEXT, len(limits)),
            lambda rng, shape: rng.integers(0, np.minimum(limits, 3), shape),
        )
    }


def _bros(config: Any, _: str) -> dict[str, NamedInput]:
    return {"bbox": NamedInput((*_TEXT, config.dim_bbox), shares)}


def _markuplm(config: Any, _: str) -> dict[str, NamedInput]:
    shape = (*_TEXT, config.max_depth)
    return {
        "xpath_tags_seq": NamedInput(shape, below(config.max_xpath_tag_unit_embeddings)),
        "xpath_subs_seq": NamedInput(shape, below(config.max_xpath_subs_unit_embeddings)),
    }


def _luke(config: Any, name: str) -> dict[str, NamedInput]:
    if "Entit" not in name:
        return {}
    # Two entities of one word and of two; -1 fills up.
    positions = np.full((2, _MENTION_WORDS), -1, np.int64)
    positions[0, 0], positions[1, :2] = 1, (2, 3)
    return {
        "entity_ids": NamedInput(("batch", 2), below(config.entity_vocab_size)),
        "entity_attention_mask": NamedInput(("batch", 2), ones(np.int64)),
        "entity_position_ids": NamedInput(
            ("batch", *positions.shape), lambda _, shape: np.broadcast_to(positions, shape).copy()
        ),
    }


def _oneformer(config: Any, _: str) -> dict[str, NamedInput]:
    return {"task_inputs": NamedInput(("batch", config.task_seq_len), below(1000))}


def _vjepa(config: Any, _: str) -> dict[str, NamedInput]:
    side = config.crop_size
    shape = ("batch", config.frames_per_clip, config.in_chans, side, side)
    return {"pixel_values_videos": NamedInput(shape, normal)}


def _vit_mae(config: Any, _: str) -> dict[str, NamedInput]:
    """The order in which patches are hidden, which the model draws if nobody gives it."""
    patches = (config.image_size // config.patch_size) ** 2
    return {
        "noise": NamedInput(("batch", patches), lambda rng, shape: rng.random(shape, np.float32))
    }


def _siglip2(config: Any, name: str) -> dict[str, NamedInput]:
    """Patches of pictures of any shape, and their rows and columns."""
    if "Text" in name:
        return {}
    vision = getattr(config, "vision_config", config)
    side = int(vision.num_patches**0.5)
    width = vision.num_channels * vision.patch_size**2
    return {
        "pixel_values": NamedInput(("batch", side * side, width), normal),
        "pixel_attention_mask": NamedInput(("batch", side * side), ones(np.int64)),
        "spatial_shapes": NamedInput(("batch", 2), lambda _, shape: np.full(shape, side, np.int64)),
    }


_MAKERS: Mapping[str, Callable[[Any, str], dict[str, NamedInput]]] = {
    "canine": _canine,
    "lxmert": _lxmert,
    "visual_bert": _visual_bert,
    **dict.fromkeys(("clap", "clap_audio_model"), soundinputs.clap),
    "clvp": soundinputs.clvp,
    "decision_transformer": _decision_transformer,
    **dict.fromkeys(("time_series_transformer", "informer", "autoformer"), _series),
    "timesfm": _timesfm,
    **dict.fromkeys(("sam", "sam_hq"), _points),
    "pix2struct": _pix2struct,
    "perceiver": _perceiver,
    **dict.fromkeys(("speecht5", "speecht5_hifigan"), soundinputs.speecht5),
    **dict.fromkeys(("encodec", "dac", "mimi"), soundinputs.codec),
    "univnet": soundinputs.univnet,
    "tapas": _tapas,
    "bros": _bros,
    "markuplm": _markuplm,
    **dict.fromkeys(("luke", "mluke"), _luke),
    "oneformer": _oneformer,
    "vjepa2": _vjepa,
    "vit_mae": _vit_mae,
    **dict.fromkeys(("siglip2", "siglip2_vision_model"), _siglip2),
}
