"""Models of transformers for sound, and for text and pictures, made from their configurations."""

import numpy as np
import transformers as hf
from torch import nn

from benchmarks.exports.live import ROWS, Arrays, generator, signals
from benchmarks.exports.signatures import OfBoth, OfSound, OfSpectra
from benchmarks.exports.sizes import Sizes
from benchmarks.exports.torch_model import TorchModel


def _depth(sizes: Sizes) -> int:
    return sizes.choice((2, 3), (4, 6))


def _block(sizes: Sizes) -> dict[str, object]:
    """Sizes of a layer, by the names that most configurations have."""
    return sizes.value(
        {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256},
        {"hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536},
    )


def clip(sizes: Sizes) -> TorchModel:
    size, length, words = sizes.choice((64, 96), (224,)), *sizes.value((16, 1000), (32, 30_000))
    block = _block(sizes)
    vision = {"image_size": size, "patch_size": 16, "num_hidden_layers": _depth(sizes)}
    text = {"vocab_size": words, "num_hidden_layers": sizes.value(2, 4)}
    # The end of a text is its largest number.
    text |= {"eos_token_id": words - 1, "bos_token_id": 1, "pad_token_id": 0}
    config = hf.CLIPConfig(
        text_config=block | text | {"max_position_embeddings": 64},
        vision_config=block | vision,
        projection_dim=sizes.value(64, 256),
    )
    rng = generator(sizes.seed())
    tokens = rng.integers(5, words - 1, (ROWS, length))
    tokens[:, -1] = words - 1
    inputs: Arrays = {
        "input_ids": tokens,
        "pixel_values": signals(rng, sizes.scale, (3, size, size), (2, 3)),
        "attention_mask": np.ones((ROWS, length), np.int64),
    }
    names = ["text_embeds", "image_embeds"]
    return TorchModel(OfBoth(hf.CLIPModel(config), names), inputs, names)


def _sound_sizes(sizes: Sizes) -> dict[str, object]:
    channels = sizes.value((64,) * 5, (256,) * 7)
    return _block(sizes) | {
        "vocab_size": 32,
        "num_hidden_layers": _depth(sizes),
        "conv_dim": channels,
        "conv_stride": sizes.value((5, 2, 2, 2, 2), (5, 2, 2, 2, 2, 2, 2)),
        "conv_kernel": sizes.value((10, 3, 3, 3, 2), (10, 3, 3, 3, 3, 2, 2)),
        "num_feat_extract_layers": len(channels),
        "num_conv_pos_embeddings": sizes.value(32, 128),
        "num_conv_pos_embedding_groups": sizes.value(8, 16),
        "feat_extract_norm": sizes.chance.choice(("group", "layer")),
        "conv_bias": True,
    }


def _sound(model: nn.Module, sizes: Sizes) -> TorchModel:
    length = sizes.choice((4000, 8000), (16_000, 32_000))
    rng = generator(sizes.seed())
    inputs: Arrays = {"input_values": rng.standard_normal((ROWS, length)).astype(np.float32)}
    return TorchModel(OfSound(model, ["logits"]), inputs, ["logits"])


def wav2vec2(sizes: Sizes) -> TorchModel:
    return _sound(hf.Wav2Vec2ForCTC(hf.Wav2Vec2Config(**_sound_sizes(sizes))), sizes)


def hubert(sizes: Sizes) -> TorchModel:
    return _sound(hf.HubertForCTC(hf.HubertConfig(**_sound_sizes(sizes))), sizes)


def whisper_encoder(sizes: Sizes) -> TorchModel:
    frames, block = sizes.choice((200, 400), (200, 300)), _block(sizes)
    config = hf.WhisperConfig(
        d_model=block["hidden_size"],
        encoder_layers=_depth(sizes),
        encoder_attention_heads=block["num_attention_heads"],
        decoder_attention_heads=block["num_attention_heads"],
        encoder_ffn_dim=block["intermediate_size"],
        num_mel_bins=80,
        max_source_positions=frames // 2,
    )
    encoder = hf.WhisperModel(config).encoder
    rng = generator(sizes.seed())
    spectra = signals(rng, sizes.scale, (80, frames), (1, 2))
    name = "last_hidden_state"
    return TorchModel(OfSpectra(encoder, [name]), {"input_features": spectra}, [name])


def ast(sizes: Sizes) -> TorchModel:
    frames, bins = sizes.chance.choice((128, 256)), sizes.value(64, 128)
    config = hf.ASTConfig(
        **_block(sizes),
        num_hidden_layers=_depth(sizes),
        max_length=frames,
        num_mel_bins=bins,
        num_labels=50,
    )
    rng = generator(sizes.seed())
    spectra = signals(rng, sizes.scale, (frames, bins), (1, 2))
    model = hf.ASTForAudioClassification(config)
    return TorchModel(OfSound(model, ["logits"]), {"input_values": spectra}, ["logits"])
