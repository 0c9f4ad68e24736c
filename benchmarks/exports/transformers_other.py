"""Models of transformers for sound, and for text and pictures, made from their configurations."""

import random

import numpy as np
import transformers as hf
from torch import nn

from benchmarks.exports.live import ROWS, Arrays, generator
from benchmarks.exports.signatures import OfBoth, OfSound, OfSpectra
from benchmarks.exports.torch_model import TorchModel

_WORDS = 1000


def clip(chance: random.Random) -> TorchModel:
    size, length = chance.choice((64, 96)), 16
    text = {"vocab_size": _WORDS, "hidden_size": 128, "intermediate_size": 256}
    text |= {"num_hidden_layers": 2, "num_attention_heads": 4, "max_position_embeddings": 64}
    vision = {"image_size": size, "patch_size": 16, "hidden_size": 128, "intermediate_size": 256}
    vision |= {"num_hidden_layers": chance.choice((2, 3)), "num_attention_heads": 4}
    # The end of a text is its largest number.
    text |= {"eos_token_id": _WORDS - 1, "bos_token_id": 1, "pad_token_id": 0}
    config = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=64)
    rng = generator(chance.randrange(2**31))
    words = rng.integers(5, _WORDS - 1, (ROWS, length))
    words[:, -1] = _WORDS - 1
    inputs: Arrays = {
        "input_ids": words,
        "pixel_values": rng.standard_normal((ROWS, 3, size, size)).astype(np.float32),
        "attention_mask": np.ones((ROWS, length), np.int64),
    }
    names = ["text_embeds", "image_embeds"]
    return TorchModel(OfBoth(hf.CLIPModel(config), names), inputs, names)


def _sound_sizes(chance: random.Random) -> dict[str, object]:
    return {
        "vocab_size": 32,
        "hidden_size": 128,
        "num_hidden_layers": chance.choice((2, 3)),
        "num_attention_heads": 4,
        "intermediate_size": 256,
        "conv_dim": (64, 64, 64, 64, 64),
        "conv_stride": (5, 2, 2, 2, 2),
        "conv_kernel": (10, 3, 3, 3, 2),
        "num_feat_extract_layers": 5,
        "num_conv_pos_embeddings": 32,
        "num_conv_pos_embedding_groups": 8,
        "feat_extract_norm": chance.choice(("group", "layer")),
        "conv_bias": True,
    }


def _sound(model: nn.Module, chance: random.Random) -> TorchModel:
    length = chance.choice((4000, 8000))
    rng = generator(chance.randrange(2**31))
    inputs: Arrays = {"input_values": rng.standard_normal((ROWS, length)).astype(np.float32)}
    return TorchModel(OfSound(model, ["logits"]), inputs, ["logits"])


def wav2vec2(chance: random.Random) -> TorchModel:
    return _sound(hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(**_sound_sizes(chance))), chance)


def hubert(chance: random.Random) -> TorchModel:
    return _sound(hf.HubertForCTC(hf.HubertConfig(**_sound_sizes(chance))), chance)


def whisper_encoder(chance: random.Random) -> TorchModel:
    frames = chance.choice((200, 400))
    config = hf.WhisperConfig(
        d_model=128,
        encoder_layers=chance.choice((2, 3)),
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        num_mel_bins=80,
        max_source_positions=frames // 2,
    )
    encoder = hf.WhisperModel(config).encoder
    rng = generator(chance.randrange(2**31))
    inputs: Arrays = {"input_features": rng.standard_normal((ROWS, 80, frames)).astype(np.float32)}
    name = "last_hidden_state"
    return TorchModel(OfSpectra(encoder, [name]), inputs, [name])


def ast(chance: random.Random) -> TorchModel:
    frames, bins = chance.choice((128, 256)), 64
    config = hf.ASTConfig(
        hidden_size=128,
        num_hidden_layers=chance.choice((2, 3)),
        num_attention_heads=4,
        intermediate_size=256,
        max_length=frames,
        num_mel_bins=bins,
        num_labels=50,
    )
    rng = generator(chance.randrange(2**31))
    inputs: Arrays = {"input_values": rng.standard_normal((ROWS, frames, bins)).astype(np.float32)}
    model = hf.ASTForAudioClassification(config)
    return TorchModel(OfSound(model, ["logits"]), inputs, ["logits"])
