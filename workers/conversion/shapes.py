"""Shapes of pictures and spectra that a configuration describes."""

import json
from pathlib import Path
from typing import Any

_USUAL_PICTURE = 224
_MOST_CONFIG_BYTES = 2**20


def picture_shape(config: Any, folder: Path) -> tuple[int, ...]:
    """Frames of a video, channels, height and width.

    What preprocessor_config.json says comes first, since users feed such pictures.
    """
    parts = (getattr(config, name, None) for name in ("vision_config", "image_config", "encoder"))
    vision = next((part for part in parts if hasattr(part, "to_dict")), config)
    channels = getattr(vision, "num_channels", 3)
    size = _prepared_size(folder) or _pair(_first(vision, "image_size", "input_size"))
    height, width = size or (_USUAL_PICTURE, _USUAL_PICTURE)
    frames = getattr(vision, "num_frames", None)
    channels = channels if isinstance(channels, int) else 3
    return (*([frames] if isinstance(frames, int) else []), channels, height, width)


def spectrum_shape(config: Any) -> tuple[int, ...]:
    """Shape of a spectrum: bins and frames for Whisper, frames and bins for others."""
    bins, positions = (
        getattr(config, name, None) for name in ("num_mel_bins", "max_source_positions")
    )
    if isinstance(bins, int) and isinstance(positions, int):
        return bins, 2 * positions
    width = getattr(config, "input_feat_per_channel", None)
    width = width or getattr(config, "feature_projection_input_dim", None)
    return (96, width) if isinstance(width, int) else ()


def _first(config: Any, *names: str) -> Any:
    """The first member of these names."""
    return next((value for name in names if (value := getattr(config, name, None))), None)


def _prepared_size(folder: Path) -> tuple[int, int] | None:
    """Height and width of pictures that preprocessor_config.json makes."""
    path = folder / "preprocessor_config.json"
    if not path.is_file() or path.stat().st_size > _MOST_CONFIG_BYTES:
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    is_cropped = content.get("do_center_crop", True)
    return (is_cropped and _pair(content.get("crop_size"))) or _pair(content.get("size"))


def _pair(size: Any) -> tuple[int, int] | None:
    """Height and width, from any of the spellings of sizes."""
    match size:
        case bool():
            return None
        case int() if size > 0:
            return size, size
        case [int(height), int(width)] | (int(height), int(width)):
            return height, width
        case {"height": int(height), "width": int(width)}:
            return height, width
        case {"shortest_edge": int(edge)}:
            return edge, edge
        case _:
            return None
