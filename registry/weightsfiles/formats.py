"""The table of formats whose files state what they hold."""

from collections.abc import Callable
from typing import BinaryIO

from registry.weightsfiles import gguf, hdf5, pickles, programs, safetensors, tflite
from registry.weightsfiles.facts import WeightsFacts

Reader = Callable[[BinaryIO, int], WeightsFacts | None]
_Readers = tuple[tuple[tuple[str, ...], Reader], ...]
#: Suffixes of a format, and its reader: of formats whose headers describe the tensors.
_HEADERS: _Readers = (
    ((".safetensors",), safetensors.read),
    ((".gguf",), gguf.read),
    ((".pt2",), programs.read_pt2),
    ((".keras",), programs.read_keras),
    ((".h5", ".hdf5"), hdf5.read),
    ((".tflite",), tflite.read),
)
#: And of formats that are scanned as a whole.
_SCANNED: _Readers = (
    ((".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib"), pickles.read),
    # Also of raw weights, which state nothing.
    ((".bin",), pickles.read_if_pickle),
)
#: Suffixes of the files whose facts cost the reading of a header.
DESCRIBED = tuple(suffix for suffixes, _ in _HEADERS for suffix in suffixes)


def reader_of(path: str) -> Reader | None:
    """What reads a file of this name; ``None`` if it states nothing about itself.

    A reader takes a stream and the size of the file in bytes. It returns ``None`` for a file of
    another format that may have this name, and raises
    :class:`~registry.weightsfiles.facts.Unreadable`.
    """
    lower = path.lower()
    return next((read for suffixes, read in _HEADERS + _SCANNED if lower.endswith(suffixes)), None)
