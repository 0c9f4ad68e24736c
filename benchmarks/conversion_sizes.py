"""Reduces the sizes in a configuration of ``transformers`` by the names of its members."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Pattern of a name to the largest value; the first one that matches counts. ``None``: as it is.
_LARGEST: Sequence[tuple[str, int | None]] = (
    (
        "type_vocab_size|num_labels|num_channels|num_mel_bins|patch_size|tubelet|kernel|stride",
        None,
    ),
    ("vocab_size|num_embeddings$", 300),
    ("num_key_value_heads|kv_heads|num_kv", 2),
    ("num_experts_per_tok|moe_k|moe_topk|top_k_experts", 2),
    ("n_group|topk_group", 1),
    ("num_(local_)?experts|n_routed_experts", 4),
    ("head_dim|d_kv|attention_head_size|head_size", 8),
    ("(num|n)_?.*heads?$|encoder_attention_heads", 4),
    ("num_hidden_layers|num_layers|n_layers?$|_layers$|num_blocks|num_hidden_groups|depth$", 2),
    ("intermediate_size|ffn_dim|d_ff|mlp_dim|inner_dim|feed_?forward|ffn_size|n_inner", 64),
    ("lora_rank", 16),
    (
        (
            "hidden_size|d_model|embed_dim|n_embd|embedding_size|emb_dim|projection_(dim|size)|^dim$|"
            "_dim$|width$|output_size|feature_size|decoder_hidden|channels$"
        ),
        32,
    ),
    (
        "max_position_embeddings|n_positions|max_seq|max_length|max_\\w+_positions|context_length",
        128,
    ),
    ("image_size|img_size|input_size|crop_size", 64),
    ("num_queries|num_query|two_stage_num", 10),
    ("codebook_size", 64),
)
#: Pattern of the name of a list of integers to the list in its place.
_LISTS: Sequence[tuple[str, Callable[[Sequence[int]], list[int]]]] = (
    ("depths|layers_per|num_layers|num_blocks|num_hidden", lambda old: [1] * len(old)),
    (
        "hidden_sizes|embed_dims?|channels|widths|encoder_in|stage_dims|dims",
        lambda old: [16 * (place + 1) for place in range(len(old))],
    ),
    ("heads", lambda old: [2] * len(old)),
    ("image_size|img_size|input_size", lambda old: [64] * len(old)),
)
#: Members that follow from others.
_LEFT_OUT = frozenset(
    {
        *("layer_types", "mlp_layer_types", "stage_names", "out_features", "out_indices"),
        *("layers_block_type", "id2label", "label2id", "transformers_version", "architectures"),
        *("dtype", "auto_map"),
    }
)
_TOKEN = re.compile(r"(token_id|token_index|_id)$")


def reduced(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a configuration with small sizes, those of its parts as well."""
    return {name: _small(name, value) for name, value in members.items() if name not in _LEFT_OUT}


def _small(name: str, value: Any) -> Any:
    match value:
        case bool() | None:
            return value
        case dict():
            return reduced(value) if "config" in name else value
        case int() if _TOKEN.search(name):
            # Below the reduced vocabulary, and different for different tokens.
            return value if value < 300 else 100 + (7 * value + len(name)) % 180
        case int() if value > 0:
            largest = next((most for one, most in _LARGEST if re.search(one, name)), None)
            return value if largest is None else min(value, largest)
        case [*numbers] if numbers and all(type(number) is int for number in numbers):
            change = next((change for one, change in _LISTS if re.search(one, name)), list)
            return change(numbers)
        case _:
            return value
