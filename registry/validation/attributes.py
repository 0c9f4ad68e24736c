"""Which paths ``.gitattributes`` puts into large file storage (LFS).

The language is that of git's ``gitattributes`` manual page, with the patterns of
:mod:`registry.validation.wildcards`; the last line that says something about ``filter`` decides.
Macros are not expanded.
"""

import re
from collections.abc import Callable

from registry.validation.wildcards import matches, parts_of

#: Greater files are large wherever they lie and whatever they are called.
LARGE_BYTES = 10_000_000
MAX_ATTRIBUTES_BYTES = 1 << 16

#: What the Hugging Face Hub writes into a new model repository, so that its clients find here
#: what they find there.
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
    """A function of path and size in bytes: does ``.gitattributes`` or the size make it large?"""
    lines: list[tuple[list[str], bool]] = []
    for line in attributes.decode(errors="replace").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is None or line.lstrip().startswith(("#", "[attr]", "!")):
            continue
        said = [word for word in match["attributes"].split() if _FILTER.fullmatch(word)]
        if said:
            lines.append((_pattern(match["pattern"]), said[-1] == "filter=lfs"))
    lines.reverse()

    def is_large(path: str, size_bytes: int) -> bool:
        # Git LFS never makes a pointer of an empty file.
        if size_bytes == 0:
            return False
        if size_bytes > LARGE_BYTES:
            return True
        parts = path.split("/")
        return next((large for pattern, large in lines if matches(pattern, parts)), False)

    return is_large


_FILTER = re.compile(r"[-!]?filter(?:=\S*)?")


def _pattern(spelled: str) -> list[str]:
    if spelled.startswith('"'):
        spelled = re.sub(r"\\(.)", r"\1", spelled[1:-1])
    return parts_of(spelled)
