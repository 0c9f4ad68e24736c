"""Language models of transformers, made from their configurations."""

from typing import Any

import numpy as np
import transformers as hf
from torch import nn

from benchmarks.exports.live import ROWS, Arrays, generator
from benchmarks.exports.signatures import OfText, OfTokens
from benchmarks.exports.sizes import Sizes
from benchmarks.exports.torch_model import TorchModel

_STATE = "last_hidden_state"
_SEQUENCE = {0: "batch", 1: "sequence"}


def _words(sizes: Sizes, *, is_decoder: bool = False) -> int:
    # The scores of a decoder are as many for each token.
    return sizes.value(2000, 8000 if is_decoder else 30_000)


def _shared(sizes: Sizes, *, is_decoder: bool = False) -> dict[str, Any]:
    """Sizes by the names that most configurations have."""
    heads = sizes.choice((4, 6, 8), (6, 8))
    width = sizes.value(32, 64) * heads
    return {
        "vocab_size": _words(sizes, is_decoder=is_decoder),
        "hidden_size": width,
        "num_hidden_layers": sizes.choice((2, 3, 4), (4, 6, 8)),
        "num_attention_heads": heads,
        "intermediate_size": sizes.choice((2, 4), (4,)) * width,
        "max_position_embeddings": 160,
    }


def _encoder(
    model: nn.Module, sizes: Sizes, *, last: str = "logits", gain: float = 1.5
) -> TorchModel:
    length = sizes.choice((32, 48, 64), (128,))
    rng = generator(sizes.seed())
    mask = np.ones((ROWS, length), np.int64)
    for row, words in enumerate(rng.integers(length // 2, length, ROWS)):
        mask[row, words:] = 0
    inputs: Arrays = {
        # The first few numbers are special tokens.
        "input_ids": rng.integers(5, _words(sizes), (ROWS, length)),
        "attention_mask": mask,
    }
    axes = dict.fromkeys(inputs, _SEQUENCE)
    outputs = {} if last == "logits" else {last: _SEQUENCE}
    return TorchModel(OfText(model, [last]), inputs, [last], axes, outputs, gain)


def _decoder(model: nn.Module, sizes: Sizes) -> TorchModel:
    length = sizes.choice((16, 24, 32), (64,))
    words = _words(sizes, is_decoder=True)
    tokens = generator(sizes.seed()).integers(5, words, (ROWS, length))
    # Without a mask, transformers looks for packed texts by an operator that TorchScript's
    # exporter lacks.
    inputs: Arrays = {"input_ids": tokens, "attention_mask": np.ones(tokens.shape, np.int64)}
    axes = dict.fromkeys(inputs, _SEQUENCE)
    return TorchModel(OfTokens(model, ["logits"]), inputs, ["logits"], axes, {"logits": _SEQUENCE})


def bert(sizes: Sizes) -> TorchModel:
    config = hf.BertConfig(**_shared(sizes), num_labels=sizes.chance.choice((2, 5, 9)))
    return _encoder(hf.BertForSequenceClassification(config), sizes)


def distilbert(sizes: Sizes) -> TorchModel:
    shared = _shared(sizes)
    config = hf.DistilBertConfig(
        vocab_size=shared["vocab_size"],
        dim=shared["hidden_size"],
        n_layers=shared["num_hidden_layers"],
        n_heads=shared["num_attention_heads"],
        hidden_dim=shared["intermediate_size"],
        max_position_embeddings=160,
    )
    return _encoder(hf.DistilBertForSequenceClassification(config), sizes)


def roberta(sizes: Sizes) -> TorchModel:
    config = hf.RobertaConfig(**_shared(sizes))
    return _encoder(hf.RobertaModel(config, add_pooling_layer=False), sizes, last=_STATE)


def electra(sizes: Sizes) -> TorchModel:
    config = hf.ElectraConfig(**_shared(sizes), embedding_size=sizes.value(64, 128))
    return _encoder(hf.ElectraModel(config), sizes, last=_STATE)


def albert(sizes: Sizes) -> TorchModel:
    config = hf.AlbertConfig(**_shared(sizes), embedding_size=sizes.value(64, 128))
    return _encoder(hf.AlbertForSequenceClassification(config), sizes)


def mpnet(sizes: Sizes) -> TorchModel:
    config = hf.MPNetConfig(**_shared(sizes))
    return _encoder(hf.MPNetModel(config, add_pooling_layer=False), sizes, last=_STATE)


def deberta_v2(sizes: Sizes) -> TorchModel:
    config = hf.DebertaV2Config(
        **_shared(sizes),
        relative_attention=True,
        position_buckets=sizes.value(16, 64),
        pos_att_type=["p2c", "c2p"],
        type_vocab_size=0,
    )
    return _encoder(hf.DebertaV2Model(config), sizes, last=_STATE)


def mobilebert(sizes: Sizes) -> TorchModel:
    width = sizes.value(256, 512)
    config = hf.MobileBertConfig(
        vocab_size=_words(sizes),
        num_hidden_layers=sizes.choice((3, 4), (8, 12)),
        hidden_size=width,
        embedding_size=sizes.value(64, 128),
        intra_bottleneck_size=sizes.choice((64, 128), (128,)),
        num_attention_heads=4,
        intermediate_size=width,
        max_position_embeddings=160,
        # Of embeddings. Behind more layers, nothing is left of small ones.
        initializer_range=sizes.value(0.02, 1.0),
    )
    # Without normalisations, larger weights let signals grow with each of its many layers.
    return _encoder(hf.MobileBertForSequenceClassification(config), sizes, gain=0.2)


def t5_encoder(sizes: Sizes) -> TorchModel:
    width, head = sizes.choice((128, 192), (384, 512)), sizes.value(32, 64)
    config = hf.T5Config(
        vocab_size=_words(sizes),
        d_model=width,
        d_kv=head,
        d_ff=sizes.value(2, 4) * width,
        num_layers=sizes.choice((2, 4), (4, 6)),
        num_heads=width // head,
        feed_forward_proj=sizes.chance.choice(("relu", "gated-gelu")),
    )
    return _encoder(hf.T5EncoderModel(config), sizes, last=_STATE)


def gpt2(sizes: Sizes) -> TorchModel:
    config = hf.GPT2Config(
        vocab_size=_words(sizes, is_decoder=True),
        n_positions=160,
        n_embd=sizes.choice((128, 192), (384, 512)),
        n_layer=sizes.choice((2, 3), (4, 6)),
        n_head=sizes.value(4, 8),
    )
    return _decoder(hf.GPT2LMHeadModel(config), sizes)


def llama(sizes: Sizes) -> TorchModel:
    shared = _shared(sizes, is_decoder=True) | {"num_key_value_heads": 2}
    return _decoder(hf.LlamaForCausalLM(hf.LlamaConfig(**shared)), sizes)


def qwen2(sizes: Sizes) -> TorchModel:
    shared = _shared(sizes, is_decoder=True) | {"num_key_value_heads": 2}
    return _decoder(hf.Qwen2ForCausalLM(hf.Qwen2Config(**shared)), sizes)


def mistral(sizes: Sizes) -> TorchModel:
    shared = _shared(sizes, is_decoder=True) | {"num_key_value_heads": 2}
    config = hf.MistralConfig(**shared, sliding_window=sizes.value(16, 32))
    return _decoder(hf.MistralForCausalLM(config), sizes)


def opt(sizes: Sizes) -> TorchModel:
    shared = _shared(sizes, is_decoder=True)
    width = shared["hidden_size"]
    config = hf.OPTConfig(
        vocab_size=shared["vocab_size"],
        hidden_size=width,
        word_embed_proj_dim=width,
        num_hidden_layers=shared["num_hidden_layers"],
        num_attention_heads=shared["num_attention_heads"],
        ffn_dim=shared["intermediate_size"],
        max_position_embeddings=160,
    )
    return _decoder(hf.OPTForCausalLM(config), sizes)
