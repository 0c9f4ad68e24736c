"""Assessments without looking: documents of schema ``hpcfair.fair/1``, as short as can be."""

from typing import Any


def document(points: float = 3, *, of: float = 4, field: str = "license") -> dict[str, Any]:
    """What a look found: of ``of`` points, ``points``; what is missing, ``field`` would mend."""
    part = {"points": points, "of": of, "percent": int(100 * points / of)}
    none = {"points": 0, "of": 0, "percent": 0}
    missing = {"what": "There is no licence.", "how": "Write one.", "field": field}
    return {
        "schema": "hpcfair.fair/1",
        "tool": "test 1",
        "subject": "https://hub.example.org/ark:/99999/h2x7k4q9m",
        "kind": "model",
        **part,
        "principles": {
            "F": {"title": "Findable", **none},
            "A": {"title": "Accessible", **none},
            "I": {"title": "Interoperable", **none},
            "R": {"title": "Reusable", **part},
        },
        "sources": {"fairsfair": part, "hub": none},
        "metrics": [
            {
                "id": "FsF-R1.1-01M",
                "source": "fairsfair",
                "principle": "R",
                "title": "A licence",
                "points": points,
                "of": of,
                "evidence": ["it was there"] if points else [],
                "missing": [] if points == of else [missing],
            }
        ],
    }
