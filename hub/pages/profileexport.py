"""Imported profiles as files: JSON, CSV, and Chrome trace events for Perfetto.

Each says where it is from, who measured it, and that the hub did not.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from registry.tables import ImportedCall, ImportedProfile

_COLUMNS = (
    "sequence", "name", "operator", "median_ns", "mad_ns", "runs", "precision", "implementation",
    "reason",
)  # fmt: skip


def provenance(row: ImportedProfile, url: str) -> dict[str, Any]:
    """Where an export is from."""
    return {
        "url": url,
        "model": row.graph.revision.mlmodel.full_name,
        "revision": row.graph.revision.oid,
        "path": row.graph.path,
        "graph_hash": row.graph.graph_hash,
        "measured_by": row.actor.username if row.actor else None,
        "measured_by_this_hub": False,
        "target": row.target,
        "tool": row.format,
        "tool_version": row.tool_version,
        "environment": row.environment,
        "method": row.method,
        "file_sha256": row.blob_id,
        "created_at": row.created_at.isoformat(),
    }


def json_document(row: ImportedProfile, calls: Sequence[ImportedCall], url: str) -> dict[str, Any]:
    """Everything: provenance, totals, fit, calls with their links."""
    return {
        "provenance": provenance(row, url),
        "total_ns": row.total_ns,
        "is_total_stated": row.is_total_stated,
        "notes": row.notes,
        "fit": row.fit,
        "folded": row.folded,
        "calls": [
            {column: getattr(call, column) for column in _COLUMNS} | {"nodes": call.nodes}
            for call in calls
        ],
    }


def csv_rows(calls: Sequence[ImportedCall]) -> Iterator[Sequence[object]]:
    """The names of the columns, then a row for each call."""
    yield (*_COLUMNS, "nodes", "grades")
    for call in calls:
        nodes = " ".join(str(node["index"]) for node in call.nodes)
        grades = " ".join(node["grade"] for node in call.nodes)
        yield (*(getattr(call, column) for column in _COLUMNS), nodes, grades)


def trace_document(row: ImportedProfile, calls: Sequence[ImportedCall], url: str) -> dict[str, Any]:
    """One run as trace events: each call after the one before, with its median time."""
    events, start_ns = [], 0
    for call in calls:
        events.append({
            "name": call.name,
            "cat": call.operator or "call",
            "ph": "X",
            "pid": 1,
            "tid": 1,
            "ts": start_ns / 1000,
            "dur": call.median_ns / 1000,
            "args": {
                "nodes": [node["index"] for node in call.nodes],
                "grades": [node["grade"] for node in call.nodes],
                "mad_us": call.mad_ns / 1000,
                "runs": call.runs,
            },
        })  # fmt: skip
        start_ns += call.median_ns
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": provenance(row, url)}
