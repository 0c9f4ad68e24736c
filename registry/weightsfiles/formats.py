"""The table of formats whose files state what they hold."""

from collections.abc import Callable
from typing import BinaryIO

from registry.weightsfiles import gguf, pickles, programs, safetensors
from registry.weightsfiles.facts import WeightsFacts

Reader = Callable[[BinaryIO, int], WeightsFacts | None]
#: Suffixes of a format, and its reader.
_READERS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    ((".safetensors",), safetensors.read),
    ((".gguf",), gguf.read),
    ((".pt2",), programs.read_pt2),
    ((".keras",), programs.read_keras),
    ((".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib"), pickles.read),
    # Also of raw weights, which state nothing.
    ((".bin",), pickles.read_if_pickle),
)


def reader_of(path: str) -> Reader | None:
    """What reads a file of this name; ``None`` if it states nothing about itself.

    A reader takes a stream and the size of the file in bytes. It returns ``None`` for a file of
    another format that may have this name, and raises
    :class:`~registry.weightsfiles.facts.Unreadable`.
    """
    lower = path.lower()
    return next((read for suffixes, read in _READERS if lower.endswith(suffixes)), None)
