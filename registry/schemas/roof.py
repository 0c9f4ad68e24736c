"""JSON Schema of measured roofs, as a device reports them."""

from typing import Final

from registry.schemas.shapes import (
    FLAG,
    NANOSECONDS,
    SECONDS,
    SHA256,
    VERSIONS,
    Schema,
    choice,
    closed,
    listing,
    mapping,
    text,
)

#: Precisions of arithmetic, and levels of memory, that have roofs.
PRECISIONS: Final = ("float32", "bfloat16", "float16", "int8")
LEVELS: Final = ("L1", "L2", "L3", "memory")

_ROUND = closed({"samples_ns": listing(NANOSECONDS, 1000, 1), "is_disturbed": FLAG})
_MEASURED: dict[str, Schema] = {
    "rounds": listing(_ROUND, 100, 1),
    "method": text(300, 1),
    "threads": {"type": "integer", "minimum": 1, "maximum": 100_000},
}
_COMPUTE = closed(
    {
        **_MEASURED,
        "precision": choice(list(PRECISIONS)),
        "backend": text(32, 1),
        "size": {"type": "integer", "minimum": 16, "maximum": 65_536},
        "layers": {"type": "integer", "minimum": 1, "maximum": 1000},
    }
)
_MEMORY = closed(
    {
        **_MEASURED,
        "level": choice(list(LEVELS)),
        "bytes": {"type": "integer", "minimum": 1024, "maximum": 2**40},
        "arrays": {"type": "integer", "minimum": 1, "maximum": 3},
        "repeats": {"type": "integer", "minimum": 1, "maximum": 10_000_000},
    }
)

#: Columns of ``roofs_store``.
ROOFS: Final = closed(
    {
        "tools": mapping(VERSIONS, 100),
        "tools_sha256": SHA256,
        "took_s": SECONDS,
        "roofs": listing({"anyOf": [_COMPUTE, _MEMORY]}, 50),
        "notes": listing(text(500, 1), 50),
    }
)
