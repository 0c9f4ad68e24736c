"""Small models of architectures of ``transformers``.

Their configurations are the library's own with sizes reduced by the names of their members. Those
that are made of others, or whose sizes depend on each other, are written out.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers as hf

from benchmarks.conversion_sizes import reduced
from benchmarks.exports.torch_model import settle

_MOST_PARAMETERS = 20_000_000
#: Their first weights give all objects one score, so that any order of them is right.
_SETTLED = frozenset({"rt_detr", "rt_detr_v2"})
_GAIN = 1.5
_STAGES = {"embedding_size": 16, "hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1]}
_ALL_STAGES = ["stage1", "stage2", "stage3", "stage4"]
_SERIES = {
    "prediction_length": 4, "context_length": 12, "lags_sequence": [1, 2, 3], "d_model": 16,
    "num_time_features": 2, "encoder_layers": 1, "decoder_layers": 1,
}  # fmt: skip
_VOICE = {
    "hidden_size": 64, "intermediate_size": 64, "projection_dim": 32, "num_hidden_layers": 2,
    "num_attention_heads": 2,
}  # fmt: skip
_PATCHES = {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8}
_SOUND = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "conv_dim": [16] * 3, "conv_stride": [5, 4, 4], "conv_kernel": [10, 8, 4], "vocab_size": 40,
    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
_DECODER = {
    "vocab_size": 300, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
    "add_cross_attention": True, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_PICTURE = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "image_size": 32, "patch_size": 8,
}  # fmt: skip


def _detector(*stages: str) -> dict[str, Any]:
    return {
        "backbone_config": hf.ResNetConfig(**_STAGES, out_features=list(stages)),
        "backbone": None, "use_timm_backbone": False, "d_model": 32, "num_queries": 8,
        "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    }  # fmt: skip


def _swin() -> Any:
    return hf.SwinConfig(
        image_size=64, embed_dim=16, depths=[1] * 4, num_heads=[2, 2, 4, 4], window_size=4,
        out_features=_ALL_STAGES,
    )  # fmt: skip


def _detr(model_type: str) -> Any:
    return hf.CONFIG_MAPPING[model_type](**_detector("stage4"))


def _deformable_detr(_: str) -> Any:
    # It ties the heads of its layers, of which it needs two.
    members = _detector("stage2", "stage3", "stage4") | {"decoder_layers": 2}
    return hf.DeformableDetrConfig(**members, num_feature_levels=4)


def _rt_detr(model_type: str) -> Any:
    backbone = hf.RTDetrResNetConfig(**_STAGES, layer_type="basic", out_features=_ALL_STAGES[1:])
    return hf.CONFIG_MAPPING[model_type](
        backbone_config=backbone, encoder_in_channels=[24, 32, 40], encoder_hidden_dim=32,
        encoder_ffn_dim=64, encoder_attention_heads=4, d_model=32, num_queries=10,
        decoder_in_channels=[32] * 3, decoder_ffn_dim=64, decoder_layers=2,
        decoder_attention_heads=4, num_denoising=0,
    )  # fmt: skip


def _mask2former(_: str) -> Any:
    return hf.Mask2FormerConfig(
        backbone_config=_swin(), feature_size=32, mask_feature_size=32, hidden_dim=32,
        encoder_feedforward_dim=64, encoder_layers=1, decoder_layers=2, num_queries=8,
        num_attention_heads=4, dim_feedforward=64,
    )  # fmt: skip


def _upernet(_: str) -> Any:
    return hf.UperNetConfig(
        backbone_config=hf.ResNetConfig(**_STAGES, out_features=_ALL_STAGES),
        hidden_size=32, pool_scales=[1, 2], use_auxiliary_head=False,
    )  # fmt: skip


def _sam(_: str) -> Any:
    return hf.SamConfig(
        vision_config={
            "hidden_size": 32, "output_channels": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "image_size": 64, "patch_size": 16, "mlp_dim": 64,
            "window_size": 2, "global_attn_indexes": [1], "num_pos_feats": 16,
        },
        prompt_encoder_config={
            "hidden_size": 32, "image_size": 64, "patch_size": 16, "mask_input_channels": 4,
        },
        mask_decoder_config={
            "hidden_size": 32, "mlp_dim": 64, "num_hidden_layers": 2,
            "num_attention_heads": 4, "iou_head_hidden_dim": 32,
        },
    )  # fmt: skip


def _depth_anything(_: str) -> Any:
    backbone = hf.Dinov2Config(
        **{**_PICTURE, "num_hidden_layers": 4, "image_size": 56, "patch_size": 14},
        reshape_hidden_states=False, out_features=_ALL_STAGES,
    )  # fmt: skip
    return hf.DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=32, fusion_hidden_size=16,
        neck_hidden_sizes=[8, 16, 24, 32], head_hidden_size=8,
    )  # fmt: skip


def _vision_encoder_decoder(_: str) -> Any:
    return hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.ViTConfig(**_PICTURE), hf.GPT2Config(**_DECODER)
    )


def _speech_encoder_decoder(_: str) -> Any:
    return hf.SpeechEncoderDecoderConfig.from_encoder_decoder_configs(
        hf.Wav2Vec2Config(**_SOUND), hf.GPT2Config(**_DECODER)
    )


def _clap(_: str) -> Any:
    audio = {
        "num_mel_bins": 16, "spec_size": 64, "patch_size": 4, "patch_stride": [4, 4],
        "patch_embeds_hidden_size": 16, "depths": [1, 1], "num_attention_heads": [2, 2],
        "window_size": 4, "hidden_size": 32, "projection_dim": 16,
    }  # fmt: skip
    texts = {"vocab_size": 300, "hidden_size": 32, "num_hidden_layers": 1,
             "num_attention_heads": 4, "intermediate_size": 64}  # fmt: skip
    return hf.ClapConfig(text_config=texts, audio_config=audio, projection_dim=16)


def _data2vec_audio(model_type: str) -> Any:
    return hf.CONFIG_MAPPING[model_type](**_SOUND)


def _informer(model_type: str) -> Any:
    return hf.CONFIG_MAPPING[model_type](**_SERIES)


#: Type of a model to its configuration.
_WHOLE: Mapping[str, Callable[[str], Any]] = {
    "detr": _detr,
    "conditional_detr": _detr,
    "deformable_detr": _deformable_detr,
    "table-transformer": _detr,
    "rt_detr": _rt_detr,
    "rt_detr_v2": _rt_detr,
    "mask2former": _mask2former,
    "upernet": _upernet,
    "sam": _sam,
    "depth_anything": _depth_anything,
    "vision-encoder-decoder": _vision_encoder_decoder,
    "speech-encoder-decoder": _speech_encoder_decoder,
    "clap": _clap,
    "data2vec-audio": _data2vec_audio,
    "sew": _data2vec_audio,
    "unispeech": _data2vec_audio,
    "wavlm": _data2vec_audio,
    "unispeech-sat": _data2vec_audio,
    "wav2vec2-conformer": _data2vec_audio,
    "sew-d": _data2vec_audio,
    "informer": _informer,
    "autoformer": _informer,
    "time_series_transformer": _informer,
}
#: Members in place of the reduced ones, by the type of the model.
_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "bit": {"num_groups": 4},
    "bros": {
        "hidden_size": 64, "dim_bbox_sinusoid_emb_2d": 16, "dim_bbox_sinusoid_emb_1d": 2,
        "dim_bbox_projection": 16,
    },
    "clvp": {"text_config": _VOICE, "speech_config": _VOICE | {"vocab_size": 300}},
    "clipseg": {"extract_layers": [0, 1], "reduce_dim": 16},
    "gpt_neo": {
        "attention_types": [[["global", "local"], 1]], "attention_layers": ["global", "local"],
        "num_layers": 2,
    },
    "gptj": {"rotary_dim": 8},
    "layoutlmv3": {"coordinate_size": 6, "shape_size": 4},
    "lilt": {"hidden_size": 48},
    "mamba2": {"num_heads": 8},
    "wav2vec2-bert": {"vocab_size": 40},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "dpt": {
        "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "is_hybrid": False,
        "neck_hidden_sizes": [8, 16, 24, 32], "fusion_hidden_size": 16,
    },
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "mixtral": {"pad_token_id": 0},
    "qwen3_moe": {"pad_token_id": 0},
    "patchtst": _PATCHES,
    "patchtsmixer": _PATCHES,
    "perceiver": {
        "num_latents": 16, "d_latents": 32, "d_model": 32, "num_blocks": 1,
        "num_self_attends_per_block": 1, "num_self_attention_heads": 2,
        "num_cross_attention_heads": 2,
    },
    "reformer": {
        "axial_pos_embds_dim": [16, 16], "axial_pos_shape": [8, 16], "hidden_size": 32,
        "attn_layers": ["local", "lsh"], "num_hidden_layers": 2, "num_buckets": 4,
    },
    "xlnet": {"d_head": 8},
}  # fmt: skip


def small_model(model_type: str, name: str, seed: int) -> Any:
    """A model of the class ``name`` with small sizes and seeded weights.

    Raises ValueError if it is large all the same.
    """
    config = _config(model_type)
    config.num_labels = 3
    kind = getattr(hf, name)
    torch.manual_seed(seed)
    model = kind(config).eval()
    if model_type in _SETTLED:
        settle(model, _GAIN)
        model.eval()
    count = sum(weight.numel() for weight in model.parameters())
    if count > _MOST_PARAMETERS:
        raise ValueError(f"{name} has {count:,} weights")
    return model


def _config(model_type: str) -> Any:
    if model_type in _WHOLE:
        return _WHOLE[model_type](model_type)
    kind = hf.CONFIG_MAPPING[model_type]
    members = reduced(kind().to_dict()) | dict(_MEMBERS.get(model_type, {}))
    members.pop("model_type")
    return kind.from_dict(members)
