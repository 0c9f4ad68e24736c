"""Selection of files for large file storage (LFS) by ``.gitattributes``.

Syntax of git's ``gitattributes`` manual page, with the patterns of
:mod:`registry.validation.wildcards`; the last matching line with ``filter`` decides. Macros are not
expanded.
"""

import re
from collections.abc import Callable

from registry.validation.wildcards import matches, parts_of

#: Files above this size are large, whatever their path.
LARGE_BYTES = 10_000_000
MAX_ATTRIBUTES_BYTES = 1 << 16

#: Content of a new repository's ``.gitattributes``, as on the Hugging Face Hub.
DEFAULT = "".join(
    f"{pattern} filter=lfs diff=lfs merge=lfs -text\n"
    for pattern in [
        *("*.7z", "*.arrow", "*.bin", "*.bz2", "*.ckpt", "*.ftz", "*.gz", "*.h5", "*.joblib"),
        *("*.lfs.*", "*.mlmodel", "*.model", "*.msgpack", "*.npy", "*.npz", "*.onnx", "*.ot"),
        *("*.parquet", "*.pb", "*.pickle", "*.pkl", "*.pt", "*.pth", "*.rar", "*.safetensors"),
        *("saved_model/**/*", "*.tar.*", "*.tar", "*.tflite", "*.tgz", "*.wasm", "*.xz", "*.zip"),
        *("*.zst", "*tfevents*"),
    ]
).encode()

_LINE = re.compile(r'(?P<pattern>"(?:[^"\\]|\\.)*"|\S+)\s+(?P<attributes>.*)')


def lfs_rule(attributes: bytes) -> Callable[[str, int], bool]:
    """A predicate of path and size in bytes: whether the file is stored as a large file."""
    lines: list[tuple[list[str], bool]] = []
    for line in attributes.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None or line.lstrip().startswith(("#", "[attr]", "!")):
            continue
        filters = [word for word in match["attributes"].split() if _FILTER.fullmatch(word)]
        if filters:
            lines.append((_pattern(match["pattern"]), filters[-1] == "filter=lfs"))
    lines.reverse()

    def is_large(path: str, size_bytes: int) -> bool:
        # Git LFS makes no pointers of empty files.
        if size_bytes == 0:
            return False
        if size_bytes > LARGE_BYTES:
            return True
        parts = path.split("/")
        return next((large for pattern, large in lines if matches(pattern, parts)), False)

    return is_large


_FILTER = re.compile(r"[-!]?filter(?:=\S*)?")


def _pattern(text: str) -> list[str]:
    if text.startswith('"'):
        text = re.sub(r"\\(.)", r"\1", text[1:-1])
    return parts_of(text)
