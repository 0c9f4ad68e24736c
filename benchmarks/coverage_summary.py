"""Figures, tables and reasons of the benchmark ``coverage``, from the results of all networks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Figure, counted

#: Networks of one reason that a table names.
_NAMED = 6
_LONGEST = 240
_COLUMNS = ("built", "right", "faster")
#: Outcomes of builds whose outputs are within the limits of their class.
RIGHT = frozenset({"measured", "pruned"})
#: Outcomes that say nothing about the backend.
_UNKNOWN = frozenset({"not-tried", "infrastructure"})
_SPECIFIC = (
    (re.compile(r"'[^']*'|\"[^\"]*\"|/[\w./-]+"), "…"),
    (re.compile(r"\b[\w.-]*\d[\w.:-]*\b"), "#"),
)
Results = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Cell:
    """A network on a backend in one precision.

    Attributes:
        is_built: Whether any configuration was built.
        is_right: Whether the outputs of any are within the limits of their class.
        is_faster: Whether any of these is faster: the ratio's interval ends below 1.
        is_exact: Whether one of the faster ones agrees to the rounding of float32.
        refusals: Why other configurations were not built or not right.
    """

    network: str
    backend: str
    precision: str
    is_built: bool
    is_right: bool
    is_faster: bool
    is_exact: bool
    refusals: tuple[str, ...]


def cells_of(results: Results) -> list[Cell]:
    """Cells in which something was tried. ``results``: network to backend to its document."""
    cells = []
    for network, backends in results.items():
        for backend, document in backends.items():
            groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
            for trial in document["trials"]:
                if trial["outcome"] not in _UNKNOWN:
                    groups[trial["precision"]].append(trial)
            cells += [_cell(network, backend, name, trials) for name, trials in groups.items()]
    return cells


def _cell(network: str, backend: str, precision: str, trials: Sequence[Mapping[str, Any]]) -> Cell:
    right = [trial for trial in trials if trial["outcome"] in RIGHT]
    faster = [trial for trial in right if trial.get("ratio") and trial["ratio"][2] < 1]
    return Cell(
        network,
        backend,
        precision,
        any(trial.get("is_built") for trial in trials),
        bool(right),
        bool(faster),
        any(trial.get("tolerance") == "exact" for trial in faster),
        tuple(
            f"{trial['outcome']}: {trial['detail']}"
            for trial in trials
            if trial["outcome"] not in RIGHT
        ),
    )


def figures_of(cells: Sequence[Cell], results: Results) -> dict[str, Figure]:
    """The fixed figures, then those of each backend."""
    backends = sorted({cell.backend for cell in cells})
    figures = {
        "built_fraction": _over_backends(cells, backends, "is_built"),
        "right_fraction": _over_backends(
            [cell for cell in cells if cell.is_built], backends, "is_right"
        ),
        "helped_fraction": _networks(cells, results, "is_faster"),
        "helped_exact_fraction": _networks(cells, results, "is_exact"),
        "networks": counted(len(results), "networks"),
        "cells": counted(len(cells), "networks x backends x precisions"),
    }
    for backend in backends:
        own = [cell for cell in cells if cell.backend == backend]
        unit = f"of {len(own)} cells"
        figures[f"built_{backend}"] = counted(_share(own, "is_built"), unit)
        figures[f"right_{backend}"] = counted(_share(own, "is_right"), unit)
        figures[f"faster_{backend}"] = counted(_share(own, "is_faster"), unit)
    return figures


def _over_backends(cells: Sequence[Cell], backends: Iterable[str], attribute: str) -> Figure:
    """Share of all cells; low and high are those of the worst and the best backend."""
    each = [
        _share(own, attribute)
        for backend in backends
        if (own := [cell for cell in cells if cell.backend == backend])
    ]
    whole = _share(cells, attribute)
    unit = f"of {len(cells)} cells, worst and best backend"
    return Figure(whole, min(each, default=whole), max(each, default=whole), unit)


def _networks(cells: Sequence[Cell], results: Results, attribute: str) -> Figure:
    helped = {cell.network for cell in cells if getattr(cell, attribute)}
    return counted(len(helped) / max(len(results), 1), f"of {len(results)} networks")


def _share(cells: Sequence[Cell], attribute: str) -> float:
    return sum(bool(getattr(cell, attribute)) for cell in cells) / max(len(cells), 1)


def table_of(cells: Sequence[Cell]) -> list[str]:
    """Lines of the table of backends and precisions."""
    lines = [
        f"{'backend':<18} {'precision':<14} {'tried':>6} {'built':>6} {'right':>6} {'faster':>6}"
    ]
    for backend, precision in sorted({(cell.backend, cell.precision) for cell in cells}):
        own = [c for c in cells if (c.backend, c.precision) == (backend, precision)]
        counts = [sum(getattr(c, f"is_{name}") for c in own) for name in _COLUMNS]
        numbers = " ".join(f"{count:>6}" for count in (len(own), *counts))
        lines.append(f"{backend:<18} {precision:<14} {numbers}")
    return lines


def refusals_of(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Reasons of refusals, most frequent first.

    Returns:
        ``{"backend", "precision", "reason", "networks": [...], "cells_lost": count}`` of each;
        ``cells_lost`` counts the cells in which no other configuration was right. Numbers and names
        in reasons are replaced, so that equal causes are grouped.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        for reason in dict.fromkeys(map(_general, cell.refusals)):
            groups[cell.backend, cell.precision, reason].append(cell)
    refusals: list[dict[str, Any]] = [
        {
            "backend": backend,
            "precision": precision,
            "reason": reason,
            "networks": [cell.network for cell in own],
            "cells_lost": sum(not cell.is_right for cell in own),
        }
        for (backend, precision, reason), own in groups.items()
    ]
    return sorted(refusals, key=lambda each: (-each["cells_lost"], -len(each["networks"])))


def refusal_lines(refusals: Sequence[Mapping[str, Any]]) -> list[str]:
    """Lines that show refusals."""
    lines = []
    for each in refusals:
        networks = each["networks"]
        named = ", ".join(networks[:_NAMED]) + (", …" if len(networks) > _NAMED else "")
        lines.append(
            f"{each['cells_lost']:>3} lost of {len(networks)}: {each['backend']} "
            f"{each['precision']}: {each['reason']} ({named})"
        )
    return lines


def _general(reason: str) -> str:
    text = " ".join(reason.split())
    for pattern, replacement in _SPECIFIC:
        text = pattern.sub(replacement, text)
    return text[:_LONGEST]
