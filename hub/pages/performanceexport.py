"""Exports of a profile: CSV, JSON, Chrome trace, Model Explorer node data, schedules.

Each names the page, the build, its record, the tools and the environment, so that a figure made
from it can be traced back.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from hub.pages.addresses import address
from hub.pages.download import csv_download, download, json_download
from registry.selectors.analysis.performance import Group, Performance
from registry.tables import Kernel, Record

#: Name in the address to what a person downloads.
FORMATS = {
    "csv": "Groups as CSV",
    "json": "Groups as JSON",
    "trace": "Chrome trace of a run",
    "nodedata": "Model Explorer node data",
    "schedules": "TVM schedules of the kernels",
}
#: Group, label, operations per second.
ExportRow: TypeAlias = tuple[Group, str, float | None]


def exported(request: HttpRequest, subject: Performance, rows: Sequence[ExportRow]) -> HttpResponse:
    """The export that the parameter ``format`` of the address names."""
    name = request.GET["format"]
    source = source_of(subject)
    mlmodel = subject.build.graph.revision.mlmodel
    file_name = f"{mlmodel.name}-{subject.build.target.slug}-{name}"
    match name:
        case "csv":
            return csv_download(f"{file_name}.csv", _table(rows), source)
        case "schedules":
            document = {"source": source, "records": _schedules(subject)}
            content = gzip.compress(json.dumps(document).encode(), mtime=0)
            return download(f"{file_name}.json.gz", content, "application/gzip")
    write = {"json": _groups, "trace": _trace, "nodedata": _node_data}[name]
    return json_download(f"{file_name}.json", {"source": source, **write(subject, rows)})


def source_of(subject: Performance) -> dict[str, Any]:
    """Where the numbers come from."""
    build = subject.build
    revision = build.graph.revision
    columns = ("document__environment", "document__target")
    environment, target = Record.objects.filter(pk=build.record_id).values_list(*columns).get()
    page = f"{address(revision.mlmodel, 'perf')}?build={build.uuid}&revision={revision.oid}"
    return {
        "permalink": f"{settings.HUB_URL}{page}",
        "mlmodel": revision.mlmodel.full_name,
        "revision": revision.oid,
        "network": build.graph.path,
        "build": str(build.uuid),
        "record": build.record_id,
        "target": build.target.slug,
        "candidate": build.candidate,
        "method": subject.profile.method,
        "profiled_at": subject.profile.created_at.isoformat(),
        "environment": environment,
        "machine": target,
    }


def _table(rows: Sequence[ExportRow]) -> Iterator[list[Any]]:
    """The names of the columns, then a row for each group; lists as words."""
    columns = [_columns(row) for row in rows]
    if columns:
        yield list(columns[0])
    for row in columns:
        yield [
            " ".join(map(str, value)) if isinstance(value, list) else value
            for value in row.values()
        ]


def _columns(row: ExportRow) -> dict[str, Any]:
    group, label, rate = row
    site = group.site
    return {
        "sequence": group.sequence,
        "name": site.name,
        "operator": site.operator,
        "label": label,
        "median_ns": site.median_ns,
        "mad_ns": site.mad_ns,
        "runs": site.runs,
        "share": round(group.share, 6),
        "is_plausible": group.is_plausible,
        "flops_per_s": rate,
        "precision": site.precision,
        "layout": site.layout,
        "implementation": site.implementation,
        "kernel": site.kernel.symbol if site.kernel else "",
        "workload": group.workload,
        "nodes": list(group.nodes),
        "grade": group.grade,
        "marks": list(group.marks),
    }


def _groups(subject: Performance, rows: Sequence[ExportRow]) -> dict[str, Any]:
    return {
        "total_ns": subject.profile.total_ns,
        "sum_ns": subject.sum_ns,
        "gap_ns": subject.gap_ns,
        "is_reconciled": subject.is_reconciled,
        "folded": subject.profile.folded,
        "groups": [_columns(row) for row in rows],
    }


def _trace(_: Performance, rows: Sequence[ExportRow]) -> dict[str, Any]:
    """Trace Event Format: the calls of a run in order, each with its median time. A profile has no
    starts, so the calls follow each other without gaps."""
    at, events = 0.0, []
    for row in rows:
        group, label, _rate = row
        if not group.is_plausible:
            continue
        us = group.site.median_ns / 1000
        events.append(
            {"name": group.site.name, "cat": label, "ph": "X", "ts": at, "dur": us, "pid": 1,
             "tid": 1, "args": _columns(row)}
        )  # fmt: skip
        at += us
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _node_data(_: Performance, rows: Sequence[ExportRow]) -> dict[str, Any]:
    """Model Explorer's custom node data for one graph; keys are positions of nodes in the file.

    A group's share stands at each of its nodes, because it cannot be divided among them.
    """
    results = {
        str(node): {"value": round(100 * group.share, 4)}
        for group, _, _ in rows
        for node in group.nodes
        if group.is_plausible
    }
    gradient = [{"stop": 0, "bgColor": "#00204d"}, {"stop": 1, "bgColor": "#ffe945"}]
    return {"results": results, "gradient": gradient}


def _schedules(subject: Performance) -> list[dict[str, Any]]:
    """Traces as TVM's ``Trace.as_json`` gives them, one for each scheduled kernel."""
    kernels = Kernel.objects.filter(profile=subject.profile, schedule__isnull=False)
    return [
        {"symbol": one.symbol, "workload": one.workload, "trace": one.schedule}
        for one in kernels.order_by("symbol")
    ]
