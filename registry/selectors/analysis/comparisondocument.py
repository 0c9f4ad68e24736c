"""A comparison as JSON and as rows, for the API, the client and for downloads."""

from collections.abc import Iterator
from typing import Any

from registry.selectors.analysis.comparison import Comparison, LimitAnswer
from registry.selectors.analysis.groupdelta import GroupTable
from registry.selectors.analysis.measuredbuild import METRICS, MeasuredBuild, differences
from registry.selectors.analysis.outcome import OutcomeCell, OutcomeMatrix


def comparison_document(
    comparison: Comparison,
    matrix: OutcomeMatrix,
    groups: GroupTable,
    answer: LimitAnswer | None,
) -> dict[str, Any]:
    """The comparison as JSON. Figures that were not measured are null."""
    return {
        "builds": [_build(each) for each in comparison.builds],
        "total": comparison.total,
        "differences": differences(comparison.builds),
        "missing": comparison.missing,
        "without_network": comparison.without_network,
        "matrix": {
            "columns": [
                {"target": one.target, "backend": one.backend, "ratio": mean.ratio,
                 "networks": mean.networks}
                for one, mean in zip(matrix.columns, matrix.means, strict=True)
            ],
            "rows": [
                {"mlmodel": row.graph.revision.mlmodel.full_name,
                 "cells": [_cell(cell) for cell in row.cells]}
                for row in matrix.rows
            ],
        },
        "groups": {
            "builds": [str(each.build.uuid) for each in groups.builds],
            "refusal": groups.refusal,
            "excluded": list(groups.excluded),
            "rows": [
                {"nodes": list(one.group.nodes), "operators": list(one.group.operators),
                 "times_ns": list(one.times_ns), "precisions": list(one.precisions)}
                for one in groups.groups
            ],
        },
        "answer": _answer(answer) if answer else None,
    }  # fmt: skip


def build_rows(comparison: Comparison) -> Iterator[list[Any]]:
    """A header and a row for each build; empty cells were not measured."""
    conditions = list(dict.fromkeys(name for one in comparison.builds for name in one.conditions))
    yield [
        *("build", "record", "mlmodel", "revision", "target", "backend", "tolerance", "default"),
        *(f"{metric.name}_{_UNITS[metric.unit]}" for metric in METRICS.values()),
        *("latency_low_ns", "latency_high_ns", "ratio", "samples"),
        *conditions,
    ]
    for each in comparison.builds:
        build = each.build
        yield [
            *(str(build.uuid), build.record_id, each.mlmodel.full_name, each.revision.oid),
            *(build.target.slug, each.backend, build.tolerance, build.is_baseline),
            *(each.figures[name] for name in METRICS),
            *(*each.interval_ns, build.ratio, each.samples),
            *(each.conditions.get(name, "") for name in conditions),
        ]


def group_rows(groups: GroupTable) -> Iterator[list[Any]]:
    """A header and a row for each group of nodes."""
    names = [f"{each.build.uuid}" for each in groups.builds]
    yield [
        *("nodes", "operators"),
        *(f"{name}_{what}" for name in names for what in ("ns", "precision")),
    ]
    for one in groups.groups:
        pairs = zip(one.times_ns, one.precisions, strict=True)
        yield [
            " ".join(map(str, one.group.nodes)),
            " ".join(one.group.operators),
            *(value for pair in pairs for value in pair),
        ]


_UNITS = {
    "ns": "ns",
    "J": "joules",
    "B": "bytes",
    "share": "share",
    "error": "l2",
    "/s": "per_second",
}


def _build(each: MeasuredBuild) -> dict[str, Any]:
    build, (low, high) = each.build, each.interval_ns
    return {
        "uuid": str(build.uuid),
        "record": build.record_id,
        "mlmodel": each.mlmodel.full_name,
        "revision": each.revision.oid,
        "target": build.target.slug,
        "backend": each.backend,
        "options": build.candidate["options"],
        "tolerance": build.tolerance,
        "is_baseline": build.is_baseline,
        "ratio": build.ratio,
        "latency_low_ns": low,
        "latency_high_ns": high,
        "samples": each.samples,
        "figures": dict(each.figures),
        "conditions": dict(each.conditions),
        "has_profile": each.has_profile,
    }


def _cell(cell: OutcomeCell) -> dict[str, Any]:
    return {
        "build": str(cell.best.build.uuid) if cell.best else None,
        "latency_ns": cell.best.build.p50_ns if cell.best else None,
        "reason": cell.reason,
        "detail": cell.detail,
    }


def _answer(answer: LimitAnswer) -> dict[str, Any]:
    cheapest = answer.cheapest
    return {
        "cost": answer.cost,
        "cheapest": str(cheapest.build.uuid) if cheapest else None,
        "fitting": [str(each.build.uuid) for each in answer.fitting],
        "unevaluated": answer.unevaluated,
        "emulated": answer.emulated,
    }
