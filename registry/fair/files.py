"""What a file is, told by its path: its media type, its role, whether it stays open to all.

The type is what the hub serves it as, so that metadata and answers agree.
"""

import re
from pathlib import PurePosixPath
from typing import Final

from hpcfair.formats import format_of
from registry.fair.parts import FileRole

UNKNOWN: Final = "application/octet-stream"

# DANGER: files come from strangers and are served from the hub's own origin. Only types that
# cannot run script there are named (no HTML, no XML, no SVG); everything else is of unknown type.
_TYPES = {
    ".avif": "image/avif",
    ".bib": "application/x-bibtex",
    ".bmp": "image/bmp",
    ".bz2": "application/x-bzip2",
    ".c": "text/x-c",
    ".cff": "application/yaml",
    ".cpp": "text/x-c",
    ".csv": "text/csv",
    ".flac": "audio/flac",
    ".gif": "image/gif",
    ".gz": "application/gzip",
    ".h": "text/x-c",
    ".h5": "application/x-hdf5",
    ".hdf5": "application/x-hdf5",
    ".ipynb": "application/x-ipynb+json",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".jsonld": "application/ld+json",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".nc": "application/x-netcdf",
    ".ndjson": "application/x-ndjson",
    ".nt": "application/n-triples",
    ".parquet": "application/vnd.apache.parquet",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".rst": "text/x-rst",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".toml": "application/toml",
    ".tsv": "text/tab-separated-values",
    ".ttl": "text/turtle",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webp": "image/webp",
    ".xz": "application/x-xz",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".zip": "application/zip",
    ".zst": "application/zstd",
}
_TEXTS = frozenset({".gitattributes", ".gitignore", ".gitmodules", "authors", "readme"})
_LICENCES = re.compile(
    r"(?:licen[cs]e|copying|notice)(?:[-_][^.]*)?(?:\.md|\.txt|\.rst|\.\d+)?", re.IGNORECASE
)
_ENVIRONMENTS = re.compile(
    r"(?:requirements|constraints)[^/]*\.txt|(?:environment|conda)\.ya?ml|conda-lock\.yml"
    r"|(?:poetry|uv|pdm|pixi)\.lock|Pipfile\.lock|pylock(?:\.[^./]+)?\.toml|Dockerfile"
)
_CONFIGS = re.compile(r"(?:.+_)?config\.json")
_TESTS = re.compile(r"test_data_set_\d+/(?:in|out)put_\d+\.pb")
_DATA_OF_MODELS = (".onnx.data", ".onnx_data")
_OPEN_ROLES = frozenset({"card", "config", "licence"})


def media_type(path: str) -> str:
    """The media type, without parameters, that the hub serves a file of this path as."""
    place = PurePosixPath(path)
    named = _TYPES.get(place.suffix.lower())
    if named is None and (place.name.lower() in _TEXTS or _is_licence(place)):
        return "text/plain"
    return named or UNKNOWN


def role(path: str) -> FileRole:
    """What a file of this path is to its version."""
    place = PurePosixPath(path)
    file_format = format_of(path)
    contents = file_format and file_format.contents
    top = len(place.parts) == 1
    rules: tuple[tuple[bool, FileRole], ...] = (
        (path == "README.md", "card"),
        (top and _is_licence(place), "licence"),
        (top and _CONFIGS.fullmatch(path) is not None, "config"),
        (top and _ENVIRONMENTS.fullmatch(path) is not None, "environment"),
        (path == "samples.npz", "samples"),
        (_TESTS.fullmatch(path) is not None, "tests"),
        (contents == "network", "model"),
        (contents == "weights" or path.endswith(_DATA_OF_MODELS), "weights"),
    )
    return next((named for fits, named in rules if fits), "other")


def is_open(path: str) -> bool:
    """Whether a file stays open to all who may read about it, though the others are gated.

    A record of which not one file can be had is of little use to anybody: the card, which is
    shown to all anyway, settings and the licence's text say what one would be let in to.
    """
    return role(path) in _OPEN_ROLES


def _is_licence(place: PurePosixPath) -> bool:
    return _LICENCES.fullmatch(place.name) is not None
