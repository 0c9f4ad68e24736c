"""The architectures by family. Imports no exporter, so that a set can be drawn anywhere."""

from collections.abc import Iterator, Mapping

#: Family to its architectures. Each is a function of the same name in the family's module of this
#: package, which takes :class:`benchmarks.exports.sizes.Sizes`.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "transformers_text": (
        *("bert", "distilbert", "roberta", "electra", "albert", "mpnet", "deberta_v2"),
        *("mobilebert", "t5_encoder", "gpt2", "llama", "qwen2", "mistral", "opt"),
    ),
    "transformers_vision": (
        *("vit", "deit", "dinov2", "beit", "swin", "convnext", "resnet", "regnet"),
        *("mobilenet_v2", "efficientnet", "mobilevit", "levit", "segformer", "poolformer"),
    ),
    "transformers_other": ("clip", "wav2vec2", "hubert", "whisper_encoder", "ast"),
    "torch_vision": (
        *("unet", "depthwise_cnn", "squeeze_excitation", "inverted_residuals", "dilated_cnn"),
        *("autoencoder", "mlp_mixer", "group_norm_cnn", "super_resolution", "video_cnn"),
    ),
    "torch_other": (
        *("lstm_tagger", "gru_classifier", "temporal_cnn", "audio_cnn", "relative_attention"),
        *("residual_mlp", "siamese", "spectral_surrogate", "dense_graph_cnn"),
    ),
    "scikit_learn": (
        *("logistic_regression", "random_forest", "gradient_boosting", "support_vectors"),
        *("perceptron", "nearest_neighbours", "scaled_pipeline", "ridge"),
    ),
    "boosted": ("xgboost_classifier", "xgboost_regressor", "lightgbm_classifier"),
    "trained": ("trained_residual", "trained_separable", "trained_plain", "trained_patches"),
    "keras_models": ("keras_cnn", "keras_mlp", "keras_separable"),
}


def architectures() -> Iterator[tuple[str, str]]:
    """Family and name of every architecture."""
    return ((family, name) for family, names in FAMILIES.items() for name in names)
