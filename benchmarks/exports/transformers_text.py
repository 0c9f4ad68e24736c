"""Language models of transformers, made from their configurations."""

import random
from typing import Any

import numpy as np
import transformers as hf
from torch import nn

from benchmarks.exports.live import ROWS, Arrays, generator
from benchmarks.exports.signatures import OfText, OfTokens
from benchmarks.exports.torch_model import TorchModel

_WORDS = 2000
_STATE = "last_hidden_state"
_SEQUENCE = {0: "batch", 1: "sequence"}


def _sizes(chance: random.Random) -> dict[str, Any]:
    """Sizes by the names that most configurations of encoders have."""
    heads = chance.choice((4, 6, 8))
    width = 32 * heads
    return {
        "vocab_size": _WORDS,
        "hidden_size": width,
        "num_hidden_layers": chance.choice((2, 3, 4)),
        "num_attention_heads": heads,
        "intermediate_size": chance.choice((2, 4)) * width,
        "max_position_embeddings": 160,
    }


def _encoder(
    model: nn.Module, chance: random.Random, *, last: str = "logits", gain: float = 1.5
) -> TorchModel:
    length = chance.choice((32, 48, 64))
    rng = generator(chance.randrange(2**31))
    mask = np.ones((ROWS, length), np.int64)
    for row, words in enumerate(rng.integers(length // 2, length, ROWS)):
        mask[row, words:] = 0
    inputs: Arrays = {
        # The first few numbers are special tokens.
        "input_ids": rng.integers(5, _WORDS, (ROWS, length)),
        "attention_mask": mask,
    }
    axes = dict.fromkeys(inputs, _SEQUENCE)
    outputs = {} if last == "logits" else {last: _SEQUENCE}
    return TorchModel(OfText(model, [last]), inputs, [last], axes, outputs, gain)


def _decoder(model: nn.Module, chance: random.Random) -> TorchModel:
    length = chance.choice((16, 24, 32))
    tokens = generator(chance.randrange(2**31)).integers(5, _WORDS, (ROWS, length))
    # Without a mask, transformers looks for packed texts by an operator that TorchScript's
    # exporter lacks.
    inputs: Arrays = {"input_ids": tokens, "attention_mask": np.ones(tokens.shape, np.int64)}
    axes = dict.fromkeys(inputs, _SEQUENCE)
    return TorchModel(OfTokens(model, ["logits"]), inputs, ["logits"], axes, {"logits": _SEQUENCE})


def bert(chance: random.Random) -> TorchModel:
    config = hf.BertConfig(**_sizes(chance), num_labels=chance.choice((2, 5, 9)))
    return _encoder(hf.BertForSequenceClassification(config), chance)


def distilbert(chance: random.Random) -> TorchModel:
    sizes = _sizes(chance)
    config = hf.DistilBertConfig(
        vocab_size=_WORDS,
        dim=sizes["hidden_size"],
        n_layers=sizes["num_hidden_layers"],
        n_heads=sizes["num_attention_heads"],
        hidden_dim=sizes["intermediate_size"],
        max_position_embeddings=160,
    )
    return _encoder(hf.DistilBertForSequenceClassification(config), chance)


def roberta(chance: random.Random) -> TorchModel:
    config = hf.RobertaConfig(**_sizes(chance))
    return _encoder(hf.RobertaModel(config, add_pooling_layer=False), chance, last=_STATE)


def electra(chance: random.Random) -> TorchModel:
    config = hf.ElectraConfig(**_sizes(chance), embedding_size=64)
    return _encoder(hf.ElectraModel(config), chance, last=_STATE)


def albert(chance: random.Random) -> TorchModel:
    config = hf.AlbertConfig(**_sizes(chance), embedding_size=64)
    return _encoder(hf.AlbertForSequenceClassification(config), chance)


def mpnet(chance: random.Random) -> TorchModel:
    config = hf.MPNetConfig(**_sizes(chance))
    return _encoder(hf.MPNetModel(config, add_pooling_layer=False), chance, last=_STATE)


def deberta_v2(chance: random.Random) -> TorchModel:
    config = hf.DebertaV2Config(
        **_sizes(chance),
        relative_attention=True,
        position_buckets=16,
        pos_att_type=["p2c", "c2p"],
        type_vocab_size=0,
    )
    return _encoder(hf.DebertaV2Model(config), chance, last=_STATE)


def mobilebert(chance: random.Random) -> TorchModel:
    config = hf.MobileBertConfig(
        vocab_size=_WORDS,
        num_hidden_layers=chance.choice((3, 4)),
        hidden_size=256,
        embedding_size=64,
        intra_bottleneck_size=chance.choice((64, 128)),
        num_attention_heads=4,
        intermediate_size=256,
        max_position_embeddings=160,
    )
    # Without normalisations, larger weights let signals grow with each of its many layers.
    return _encoder(hf.MobileBertForSequenceClassification(config), chance, gain=0.2)


def t5_encoder(chance: random.Random) -> TorchModel:
    width = chance.choice((128, 192))
    config = hf.T5Config(
        vocab_size=_WORDS,
        d_model=width,
        d_kv=32,
        d_ff=2 * width,
        num_layers=chance.choice((2, 4)),
        num_heads=width // 32,
        feed_forward_proj=chance.choice(("relu", "gated-gelu")),
    )
    return _encoder(hf.T5EncoderModel(config), chance, last=_STATE)


def gpt2(chance: random.Random) -> TorchModel:
    config = hf.GPT2Config(
        vocab_size=_WORDS,
        n_positions=160,
        n_embd=chance.choice((128, 192)),
        n_layer=chance.choice((2, 3)),
        n_head=4,
    )
    return _decoder(hf.GPT2LMHeadModel(config), chance)


def llama(chance: random.Random) -> TorchModel:
    sizes = _sizes(chance) | {"num_key_value_heads": 2}
    return _decoder(hf.LlamaForCausalLM(hf.LlamaConfig(**sizes)), chance)


def qwen2(chance: random.Random) -> TorchModel:
    sizes = _sizes(chance) | {"num_key_value_heads": 2}
    return _decoder(hf.Qwen2ForCausalLM(hf.Qwen2Config(**sizes)), chance)


def mistral(chance: random.Random) -> TorchModel:
    sizes = _sizes(chance) | {"num_key_value_heads": 2, "sliding_window": 16}
    return _decoder(hf.MistralForCausalLM(hf.MistralConfig(**sizes)), chance)


def opt(chance: random.Random) -> TorchModel:
    sizes = _sizes(chance)
    width = sizes["hidden_size"]
    config = hf.OPTConfig(
        vocab_size=_WORDS,
        hidden_size=width,
        word_embed_proj_dim=width,
        num_hidden_layers=sizes["num_hidden_layers"],
        num_attention_heads=sizes["num_attention_heads"],
        ffn_dim=sizes["intermediate_size"],
        max_position_embeddings=160,
    )
    return _decoder(hf.OPTForCausalLM(config), chance)
