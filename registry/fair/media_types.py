"""What a file is, told by its name: the type that the hub serves it as and says in its records.

DANGER: files come from strangers and are served from the hub's own origin. Only types that cannot
run script are named here (no HTML, SVG, XML, PDF or JavaScript); everything else is of unknown
type.
"""

from pathlib import PurePosixPath

UNKNOWN = "application/octet-stream"
_TEXT = "text/plain; charset=utf-8"
#: Lower-case suffix to type; of those not registered with IANA, what registries of data use.
_BY_SUFFIX = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".md": "text/markdown; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".tsv": "text/tab-separated-values; charset=utf-8",
    **dict.fromkeys((".txt", ".py", ".log"), _TEXT),
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".ipynb": "application/json",
    **dict.fromkeys((".yaml", ".yml", ".cff"), "application/yaml"),
    ".toml": "application/toml",
    ".bib": "application/x-bibtex",
    ".zip": "application/zip",
    ".npz": "application/zip",
    ".gz": "application/gzip",
    ".tar": "application/x-tar",
    ".parquet": "application/vnd.apache.parquet",
    ".h5": "application/x-hdf5",
    ".hdf5": "application/x-hdf5",
}
#: Names, without suffix, that texts go by.
_TEXT_NAMES = frozenset(
    {"license", "licence", "copying", "notice", "readme", "authors", "changelog", ".gitattributes"}
)


def known_type_of(path: str) -> str | None:
    """The type of the file at ``path``; ``None`` where its name does not tell a harmless one."""
    name = PurePosixPath(path).name.casefold()
    if name in _TEXT_NAMES:
        return _TEXT
    return _BY_SUFFIX.get(PurePosixPath(name).suffix)


def media_type_of(path: str) -> str:
    """The type that the file at ``path`` is served as."""
    return known_type_of(path) or UNKNOWN
