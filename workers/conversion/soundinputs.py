"""Inputs of models of sound, by the names of their parameters."""

from typing import Any

import numpy as np

from workers.conversion.namedinput import NamedInput, normal, ones

#: Frames of spectrograms whose number no configuration states.
_FRAMES = 96
#: Longest sound that processors of CLAP make, in frames.
_CLAP_FRAMES = 1001


def clap(config: Any, name: str) -> dict[str, NamedInput]:
    """Spectrograms, in four crops where sounds of any length are fused."""
    audio = getattr(config, "audio_config", config)
    if "Text" in name:
        return {}
    bins = audio.num_mel_bins
    frames = min(_CLAP_FRAMES, audio.spec_size * (audio.spec_size // bins))
    crops = 4 if audio.enable_fusion else 1
    inputs = {"input_features": NamedInput(("batch", crops, frames, bins), normal)}
    if audio.enable_fusion:
        inputs["is_longer"] = NamedInput(("batch", 1), ones(np.bool_))
    return inputs


def clvp(config: Any, name: str) -> dict[str, NamedInput]:
    """The spectrogram of a voice, besides the text that it is to say."""
    if not name.endswith("ConditionalGeneration"):
        return {}
    bins = config.decoder_config.feature_size
    return {"input_features": NamedInput(("batch", bins, _FRAMES), normal)}


def speecht5(config: Any, name: str) -> dict[str, NamedInput]:
    """The beginning of the spoken answer, and who speaks; of the vocoder a spectrogram."""
    if name.endswith("HifiGan"):
        return {"spectrogram": NamedInput(("batch", "regions", config.model_in_dim), normal)}
    if name.endswith("ToText"):
        return {}
    return {
        "decoder_input_values": NamedInput(
            ("batch", "decoder_sequence", config.num_mel_bins), normal
        ),
        "speaker_embeddings": NamedInput(("batch", config.speaker_embedding_dim), normal),
    }


def codec(config: Any, _: str) -> dict[str, NamedInput]:
    """Samples of sound by channel."""
    channels = getattr(config, "audio_channels", 1)
    return {"input_values": NamedInput(("batch", channels, "samples"), normal)}


def univnet(config: Any, _: str) -> dict[str, NamedInput]:
    """A spectrogram, and the noise of which sound is made."""
    return {
        "input_features": NamedInput(("batch", _FRAMES, config.num_mel_bins), normal),
        "noise_sequence": NamedInput(("batch", _FRAMES, config.model_in_channels), normal),
    }
