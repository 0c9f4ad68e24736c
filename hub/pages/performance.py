"""The performance page of a model, and the inspector of a group of nodes."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hub.pages.frame import frame, repository_page
from hub.pages.inspector import InspectorLinks, inspector
from hub.pages.performanceexport import FORMATS, exported
from hub.pages.performancegraph import overlay
from hub.pages.performancetable import (
    GroupRow,
    address_with,
    columns,
    group_rows,
    has_rates,
    ordered,
)
from hub.pages.rooflinepanel import roofline_panel
from hub.pages.topology import network_panel
from registry.errors import NotFound
from registry.selectors.analysis.networkwork import work_of
from registry.selectors.analysis.performance import Group, Performance, performance_of
from registry.selectors.analysis.profiledbuild import chosen_build, profiled_builds
from registry.selectors.results.mixedprecision import mixed_precision
from registry.selectors.results.profile import profile_of
from registry.tables import Build, MLModel, Record

METRICS = {"time": "Time", "share": "Share of a run", "rate": "Operations per second"}
_HOTTEST = 5


@repository_page
@require_safe
def performance(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Where the time of a build of the model goes; by default the best profiled build.

    Parameters: ``target``, ``build`` (a UUID or ``default``), ``metric``, ``sort``, ``page``,
    ``group`` and ``tab`` of the inspector, ``format`` of an export.
    """
    context = frame(request, mlmodel, tab="perf")
    graph = context["graph"]
    builds = profiled_builds(graph) if graph is not None else []
    build = _chosen(request, mlmodel, builds)
    if build is None or graph is None:
        context["has_builds"] = graph is not None and graph.builds.exists()
        return render(request, "performance/none.html", context)
    subject = _read(build, may_fetch=context["may_fetch"])
    rows = group_rows(mlmodel, subject, request.GET.get("revision", ""))
    if request.GET.get("format") in FORMATS:
        return exported(request, subject, [(row.group, row.label, row.rate) for row in rows])
    by_sequence = {row.group.sequence: row for row in rows}
    hottest = [by_sequence[one.sequence] for one in subject.hottest(_HOTTEST)]
    metric = _metric(request, rows)
    current = _group(subject, request.GET.get("group", "")) or next(iter(subject.hottest(1)), None)
    sort, page = ordered(request, rows)
    drawn = overlay(subject, rows, metric)
    context |= {
        "performance": subject,
        "build": build,
        "mixed": mixed_precision(build),
        "builds": [one for one in builds if one.target_id == build.target_id],
        "targets": sorted({one.target.slug for one in builds}),
        "measured": _measured(build),
        "metric": metric,
        "metrics": {key: METRICS[key] for key in METRICS if key != "rate" or has_rates(rows)},
        "hottest": hottest,
        "sort": sort,
        "page": page,
        "columns": columns(request, sort, with_rates=has_rates(rows)),
        "has_rates": has_rates(rows),
        "parts": _parts(subject),
        "network": network_panel(
            request, mlmodel, build.graph.revision, graph=build.graph, overlay=drawn
        ),
        "exports": {name: address_with(request, format=name) for name in FORMATS},
        "folded": _folded(subject),
        "roofline_panel": roofline_panel(request.user, build, performance=subject),
        "other": [one for one in rows if _is_other(one.group)],
    }
    if current is not None:
        links = InspectorLinks(
            mlmodel, str(build.uuid), current.sequence, request.GET.get("revision", ""), beside=True
        )
        context |= inspector(
            request.user, subject, current, links, request.GET,
            may_see_code=context["may_fetch"],
        )  # fmt: skip
    return render(request, "performance/page.html", context)


@repository_page
@require_safe
def group(request: HttpRequest, mlmodel: MLModel, sequence: int) -> HttpResponseBase:
    """The inspector of a group: alone for htmx, else in a page of its own.

    Raises ``NotFound``: ``group_not_found``, ``profile_not_found``.
    """
    context = frame(request, mlmodel, tab="perf")
    graph = context["graph"]
    builds = profiled_builds(graph) if graph is not None else []
    build = _chosen(request, mlmodel, builds)
    if build is None:
        detail = f"{mlmodel.full_name} has no build with a profile."
        raise NotFound("profile_not_found", detail, "The best builds of a search have one.")
    subject = _read(build, may_fetch=context["may_fetch"])
    current = subject.group(sequence)
    if current is None:
        raise NotFound("group_not_found", f"Build {build.uuid} has no call {sequence}.")
    beside = request.GET.get("beside") == "1"
    links = InspectorLinks(
        mlmodel, str(build.uuid), sequence, request.GET.get("revision", ""), beside=beside
    )
    context |= {"performance": subject, "build": build} | inspector(
        request.user, subject, current, links, request.GET, may_see_code=context["may_fetch"]
    )
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "performance/inspector.html", context)
    return render(request, "performance/group.html", context)


def _chosen(request: HttpRequest, mlmodel: MLModel, builds: Sequence[Build]) -> Build | None:
    """The build of the address; see :func:`chosen_build`."""
    return chosen_build(
        request.user,
        mlmodel,
        builds,
        uuid=request.GET.get("build", ""),
        target=request.GET.get("target", ""),
    )


def _read(build: Build, *, may_fetch: bool) -> Performance:
    """The groups of a build, with the network's nodes for those who may fetch its files."""
    return performance_of(build, profile_of(build), work_of(build.graph) if may_fetch else None)


def _metric(request: HttpRequest, rows: Sequence[GroupRow]) -> str:
    metric = request.GET.get("metric", "")
    return metric if metric in METRICS and (metric != "rate" or has_rates(rows)) else "share"


def _group(subject: Performance, text: str) -> Group | None:
    return subject.group(int(text)) if text.isascii() and text.isdigit() else None


def _measured(build: Build) -> dict[str, Any]:
    """Median, spread and number of the samples of a build's benchmark record."""
    columns = ("document__statistics__candidate", "document__statistics__baseline")
    candidate, baseline = Record.objects.filter(pk=build.record_id).values_list(*columns).get()
    own: dict[str, Any] = (baseline if build.is_baseline and baseline else candidate) or {}
    return own


def _parts(subject: Performance) -> list[dict[str, Any]]:
    """Parts of the reconcile bar: widths in percent of the longer of run and sum."""
    parts = [
        ("linked to nodes", subject.attributed_ns, "part-1"),
        ("not linked", subject.unattributed_ns, "part-2"),
        ("between the calls", max(subject.gap_ns, 0), "part-3"),
    ]
    x, shown = 0.0, []
    for title, ns, style in parts:
        width = 100 * ns / subject.whole_ns
        shown.append({"title": title, "ns": ns, "share": ns / subject.whole_ns, "style": style,
                      "x": f"{x:.2f}", "width": f"{width:.2f}"})  # fmt: skip
        x += width
    return shown


def _folded(subject: Performance) -> list[tuple[int, str, str]]:
    """Nodes that were computed at build time: position, name, operator."""
    network = subject.network
    return [
        (node, network.names[node], network.operators[node])
        if network and node < len(network)
        else (node, "", "")
        for node in subject.profile.folded
    ]


def _is_other(group: Group) -> bool:
    """Whether a group ran in another precision than the model's."""
    return bool(set(group.marks) - {"tuned", "untuned", "conversion"})
