"""A search as compact columns, for views that draw thousands of trials in the browser."""

from typing import Any

import numpy as np

from registry.selectors.analysis.evidence import evidence_of, map_of
from registry.selectors.analysis.workloadsearch import WorkloadSearch
from registry.traces import DecisionColumnKind

#: Lines drawn at most, and marks of the map before they become density.
MOST_LINES, MOST_MARKS = 1500, 50_000
#: Kinds of columns that are axes: tiles of four factors are too many values for one.
_AXES = frozenset(DecisionColumnKind) - {DecisionColumnKind.TILE}
_MOST_VALUES = 24
_DIGITS = 4


def columns_of(search: WorkloadSearch) -> dict[str, Any]:
    """Timed and readable trials as dictionary-coded columns.

    Returns:
        ``positions`` and ``times`` (seconds) of the trials; ``axes`` ``[{"title", "labels",
        "codes"}]``, strongest association first, with -1 where a trial has no value; ``points``
        ``[x, y]`` of the map with ``explained`` and ``agreement``, or ``None``; ``lines`` and
        ``marks``, the limits for drawing.
    """
    is_used = np.isfinite(search.times) & ~search.table.unreadable
    positions = np.flatnonzero(is_used)
    # Those with the strongest association come first.
    ordered = [column for column, _ in evidence_of(search).by_column()]
    columns = [
        column
        for column in ordered
        if (column.kind in _AXES or len(column.values) <= 6)
        and 1 < len(column.values) <= _MOST_VALUES
    ]
    space = map_of(search)
    return {
        "version": search.version,
        "positions": positions.tolist(),
        "times": [float(f"{time:.6g}") for time in search.times[is_used]],
        "axes": [
            {
                "title": column.title,
                "labels": column.labels,
                "codes": column.codes[is_used].tolist(),
            }
            for column in columns
        ],
        "points": space and np.round(space.projection.points, _DIGITS).tolist(),
        "explained": space and [round(share, _DIGITS) for share in space.projection.explained],
        "agreement": space and space.agreement and round(space.agreement, _DIGITS),
        "lines": MOST_LINES,
        "marks": MOST_MARKS,
    }
