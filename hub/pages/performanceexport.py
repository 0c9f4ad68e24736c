"""Exports of a profile: CSV, JSON, Chrome trace, Model Explorer node data, schedules.

Each names the page, the build, its record, the tools and the environment, so that a figure made
from it can be traced back.
"""

import csv
import gzip
import io
import json
from collections.abc import Sequence
from typing import Any, TypeAlias
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from hub.pages.addresses import address
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
_TYPES = {"csv": "text/csv; charset=utf-8", "schedules": "application/gzip"}
_ENDINGS = {"csv": "csv", "schedules": "json.gz"}


def exported(request: HttpRequest, subject: Performance, rows: Sequence[ExportRow]) -> HttpResponse:
    """The export that the parameter ``format`` of the address names."""
    name = request.GET["format"]
    source = source_of(subject)
    match name:
        case "csv":
            content: bytes | str = _csv(rows, source)
        case "schedules":
            document = {"source": source, "records": _schedules(subject)}
            content = gzip.compress(json.dumps(document).encode(), mtime=0)
        case _:
            made = {"json": _groups, "trace": _trace, "nodedata": _node_data}[name](subject, rows)
            content = json.dumps({"source": source, **made}, indent=1)
    answer = HttpResponse(content, content_type=_TYPES.get(name, "application/json"))
    mlmodel = subject.build.graph.revision.mlmodel
    file = f"{mlmodel.name}-{subject.build.target.slug}-{name}.{_ENDINGS.get(name, 'json')}"
    answer.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(file)}"
    return answer


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


def _csv(rows: Sequence[ExportRow], source: dict[str, Any]) -> str:
    text = io.StringIO()
    for key, value in source.items():
        shown = value if isinstance(value, str) else json.dumps(value)
        text.write(f"# {key}: {' '.join(str(shown).splitlines())}\n")
    writer = csv.writer(text, lineterminator="\n")
    columns = list(_columns(rows[0])) if rows else []
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in _columns(row).values()])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A value for a spreadsheet, which would run texts that begin like a formula."""
    text = " ".join(map(str, value)) if isinstance(value, list) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in "=+-@\t\r" and text else text


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
