"""JSON Schemas of operator workloads and of trials of their schedules, as devices report them."""

from registry.schemas.shapes import (
    ANY_LIST,
    DETAIL,
    DURATION,
    FLOAT,
    NUMBER,
    OBJECT,
    OUTCOME,
    SECONDS,
    SHA256,
    TOOLCHAIN,
    choice,
    closed,
    listing,
    nullable,
    text,
)

_AXIS = closed({"name": text(200), "kind": choice(["spatial", "reduction", ""]), "extent": NUMBER})
_BLOCK = closed(
    {
        "name": text(200),
        "axes": listing(_AXIS, 100),
        "consumers": listing(text(200), 1000),
    }
)
SCHEDULE_TASK = closed(
    {
        "key": SHA256,
        "toolchain": TOOLCHAIN,
        "name": text(200),
        "anchor": text(64),
        "arguments": ANY_LIST,
        "flops": {"type": "number", "minimum": 0, "maximum": 1e15},
        "features": listing(FLOAT, 10_000),
    },
    # Agents of earlier versions do not send these.
    {
        "structural_hash": text(32),
        "blocks": listing(_BLOCK, 1000),
        "compiler_target": OBJECT,
    },
)
SCHEDULE_TRIAL = closed(
    {
        "key": SHA256,
        "toolchain": TOOLCHAIN,
        "number": NUMBER,
        "sketch": {},
        "decisions": {},
        "digest": SHA256,
        "proposed_by": text(32, 1),
        "outcome": OUTCOME,
        "seconds": listing(DURATION),
        "duration_s": SECONDS,
    },
    {"predicted": nullable(FLOAT), "failure_detail": DETAIL},
)
