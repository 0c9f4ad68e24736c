"""Media type, role and openness of a file by its path. The hub serves files with these media types,
so that metadata and answers agree."""

import re
from pathlib import PurePosixPath
from typing import Final

from hpcfair.formats import format_of
from registry.fair.parts import FileRole

UNKNOWN: Final = "application/octet-stream"

# DANGER: untrusted files are served from the hub's own origin. Only types that cannot run scripts
# are listed (no HTML, XML or SVG); all others are served as UNKNOWN.
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
    file = PurePosixPath(path)
    known_type = _TYPES.get(file.suffix.lower())
    if known_type is None and (file.name.lower() in _TEXTS or _is_licence(file)):
        return "text/plain"
    return known_type or UNKNOWN


def role(path: str) -> FileRole:
    """The role of a file of this path in its version."""
    file = PurePosixPath(path)
    file_format = format_of(path)
    contents = file_format and file_format.contents
    top = len(file.parts) == 1
    rules: tuple[tuple[bool, FileRole], ...] = (
        (path == "README.md", "card"),
        (top and _is_licence(file), "licence"),
        (top and _CONFIGS.fullmatch(path) is not None, "config"),
        (top and _ENVIRONMENTS.fullmatch(path) is not None, "environment"),
        (path == "samples.npz", "samples"),
        (_TESTS.fullmatch(path) is not None, "tests"),
        (contents == "network", "model"),
        (contents == "weights" or path.endswith(_DATA_OF_MODELS), "weights"),
    )
    return next((name for matches, name in rules if matches), "other")


def is_open(path: str) -> bool:
    """Whether a file of a gated repository stays open to all readers of its page: the card, the
    configuration and the licence describe the content to request access to."""
    return role(path) in _OPEN_ROLES


def _is_licence(file: PurePosixPath) -> bool:
    return _LICENCES.fullmatch(file.name) is not None
