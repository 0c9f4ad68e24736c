"""Which paths ``.gitattributes`` puts into large file storage (LFS).

The pattern language is that of git's ``gitattributes`` manual page: a pattern without a slash
matches a name in any folder, one with a slash the whole path; ``**`` stands for any number of
folders; the last line that says something about ``filter`` decides. Macros are not expanded.
"""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

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
            lines.append((_segments(match["pattern"]), said[-1] == "filter=lfs"))
    lines.reverse()

    def is_large(path: str, size_bytes: int) -> bool:
        # Git LFS never makes a pointer of an empty file.
        if size_bytes == 0:
            return False
        if size_bytes > LARGE_BYTES:
            return True
        segments = path.split("/")
        return next((large for pattern, large in lines if _matches(pattern, segments)), False)

    return is_large


_FILTER = re.compile(r"[-!]?filter(?:=\S*)?")


def _segments(pattern: str) -> list[str]:
    """The pattern's parts; one that matches in any folder begins with ``**``."""
    if pattern.startswith('"'):
        pattern = re.sub(r"\\(.)", r"\1", pattern[1:-1])
    anchored = "/" in pattern
    segments = pattern.removeprefix("/").split("/")
    segments = segments if anchored else ["**", *segments]
    # Repeated "**" match nothing more and would cost time.
    return [
        _fnmatch(segment)
        for before, segment in zip(["", *segments], segments, strict=False)
        if not before == segment == "**"
    ]


def _fnmatch(segment: str) -> str:
    """Git's wildcard in Python's spelling: ``[^a]`` is ``[!a]``, ``\\*`` is ``[*]``."""
    return re.sub(r"\\(.)", r"[\1]", segment.replace("[^", "[!"))


def _matches(pattern: list[str], segments: list[str]) -> bool:
    # reached: how many segments the pattern so far can have consumed. Unlike backtracking, this
    # takes no longer for a malicious pattern.
    reached = {0}
    for position, part in enumerate(pattern):
        if part == "**":
            last = position == len(pattern) - 1
            # In last place "**" wants something inside the folder.
            reached = {n for start in reached for n in range(start + last, len(segments) + 1)}
        else:
            reached = {
                n + 1 for n in reached if n < len(segments) and fnmatchcase(segments[n], part)
            }
    return len(segments) in reached
