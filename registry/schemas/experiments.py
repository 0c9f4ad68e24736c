"""JSON Schemas of the results of experiments with schedules."""

from registry.schemas.shapes import (
    DETAIL,
    DURATION,
    NUMBER,
    OUTCOME,
    RATIO,
    SECONDS,
    SHA256,
    TOOLCHAIN,
    UUID,
    choice,
    closed,
    listing,
    nullable,
    text,
)
from registry.states import Verdict

_COMPARISON = (
    {"outcome": OUTCOME, "verdict": choice(Verdict.values), "duration_s": SECONDS},
    {
        "failure_detail": DETAIL,
        "seconds": listing(DURATION),
        "best_seconds": listing(DURATION),
        **dict.fromkeys(("ratio", "ratio_low", "ratio_high"), nullable(RATIO)),
    },
)
#: A workload of the job's target, and the digest of its best schedule.
_BEST = {"key": SHA256, "toolchain": TOOLCHAIN, "digest": SHA256}
ABLATION = closed(
    {
        **_BEST,
        "number": NUMBER,
        "position": {"type": "integer", "minimum": -1, "maximum": 10_000},
        "alternative": {},
        "reason": text(200, 1),
        "variant": SHA256,
        **_COMPARISON[0],
    },
    _COMPARISON[1],
)
CROSS_APPLICATION = closed({**_BEST, "source": UUID, **_COMPARISON[0]}, _COMPARISON[1])
