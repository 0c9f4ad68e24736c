"""Networks as graphs: the panel that pages include, and the page of a model's networks.

The panel is drawn by ``hub/assets/graph``; without JavaScript, its table has the same nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from hub.pages.addresses import address
from hub.pages.frame import frame, repository_page
from registry.errors import NotFound
from registry.selectors.analysis.topology import (
    drawing_job,
    networks_of,
    topology_document,
    topology_of,
)
from registry.selectors.repository.gate import may_fetch
from registry.tables import Graph, Job, MLModel, Revision

#: Rows of the table on one page.
ROWS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: a node, or a group that nodes follow; ``level`` from 1."""

    level: int
    title: str
    name: str
    node: int | None = None
    output: str = ""
    macs: int | None = None
    value: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class NetworkPanel:
    """What ``partials/graph.html`` shows of a network.

    Attributes:
        name: Start of the ids in the page.
        state: ``drawn``; ``waiting``: it will be drawn; ``undrawable``; ``gated``: the visitor may
            not fetch the files; ``missing``: no network is known.
        document: Address of the topology.
        data: Address of the compact topology that is drawn; with ``&node=``, of a node's details.
        overlay: Values to lay over the nodes, as ``hub/assets/graph/overlay.js`` reads them.
        job: The open inspection that will draw it, if there is one.
        has_details: Whether selected nodes are described beside the graph.
        rows: Part of the table; ``first`` to ``last`` of ``total``.
        before, after: Query strings of the neighbouring parts; empty if there are none.
    """

    name: str
    state: str
    label: str = ""
    document: str = ""
    data: str = ""
    overlay: Mapping[str, Any] | None = None
    job: Job | None = None
    has_details: bool = False
    rows: Sequence[Row] = field(default_factory=list)
    first: int = 0
    last: int = 0
    total: int = 0
    before: str = ""
    after: str = ""

    @property
    def overlay_id(self) -> str:
        return f"{self.name}-overlay" if self.overlay is not None else ""

    @property
    def overlay_columns(self) -> dict[str, Any]:
        """The overlay as the page carries it."""
        return overlay_columns(self.overlay or {"groups": []})


def network_panel(
    request: HttpRequest,
    mlmodel: MLModel,
    revision: Revision,
    *,
    graph: Graph | None = None,
    overlay: Mapping[str, Any] | None = None,
    name: str = "network",
    has_details: bool = False,
) -> NetworkPanel:
    """The panel of a network of a model that the visitor may read.

    Args:
        graph: The network; by default the revision's primary one.
        overlay: ``{"metric", "unit", "groups": [{"id", "label", "nodes", "value", "text", "grade",
            "marks"}], "folded": [node]}``; nodes are positions in the file.
        name: Unique on the page; the table's part is the parameter of this name.
    """
    graph = graph or next(iter(networks_of(revision)), None)
    if graph is None:
        return NetworkPanel(name, "missing", job=drawing_job(revision))
    if not may_fetch(request.user, mlmodel):
        return NetworkPanel(name, "gated", label=graph.path)
    topology = topology_of(graph)
    if topology is None:
        state = "undrawable" if hasattr(graph, "topology") else "waiting"
        return NetworkPanel(name, state, label=graph.path, job=drawing_job(revision))
    document = topology_document(topology)
    part = _part(request.GET.get(name, ""), len(document["nodes"]["name"]))
    lines = list(_lines(document))
    total = len(lines)
    first = min(part * ROWS, max(total - 1, 0) // ROWS * ROWS)
    laid = {} if overlay is None else _laid_over(overlay)
    rows = [_row(document, line, overlay, laid) for line in lines[first : first + ROWS]]
    query = urlencode({"revision": revision.oid, "path": graph.path})
    return NetworkPanel(
        name,
        "drawn",
        label=graph.path,
        document=f"/api/v1/models/{mlmodel.full_name}/topology?{query}",
        data=f"{address(mlmodel, 'graph-data')}?{query}",
        overlay=overlay,
        has_details=has_details,
        rows=rows,
        first=first + 1,
        last=first + len(rows),
        total=total,
        before=_query(request, name, first // ROWS) if first else "",
        after=_query(request, name, first // ROWS + 2) if first + len(rows) < total else "",
    )


@repository_page
def graph(request: HttpRequest, mlmodel: MLModel) -> HttpResponse:
    """The networks of a revision, one at a time: ``?path=`` selects the file."""
    context = frame(request, mlmodel, tab="graph")
    networks = networks_of(context["revision"])
    path = request.GET.get("path")
    chosen = next((one for one in networks if path in {None, "", one.path}), None)
    if chosen is None and networks:
        raise NotFound("graph_not_found", f"There is no inspected network {str(path)[:200]!r}.")
    panel = network_panel(
        request, mlmodel, context["revision"], graph=chosen, name="part", has_details=True
    )
    context |= {"network": panel, "networks": networks, "chosen": chosen}
    return render(request, "mlmodel/graph.html", context)


def _part(text: str, most: int) -> int:
    """Number of the part of the table, from 0; of texts that are no number, the first."""
    return max(0, min(int(text), most) - 1) if text.isdecimal() and len(text) < 9 else 0


def _query(request: HttpRequest, name: str, part: int) -> str:
    query = request.GET.copy()
    query[name] = str(part)
    return query.urlencode()


def _lines(document: Mapping[str, Any]) -> Iterator[tuple[int, int, int]]:
    """Level, group and node of each line; of a group itself, the node is -1."""
    groups, nodes = document["groups"], document["nodes"]
    members: list[list[int]] = [[] for _ in groups["name"]]
    inner: list[list[int]] = [[] for _ in groups["name"]]
    for node, x in enumerate(nodes["x"]):
        if x is not None:
            members[nodes["group"][node]].append(node)
    for group, parent in enumerate(groups["parent"]):
        if parent >= 0:
            inner[parent].append(group)
    stack = [(0, 0)]
    while stack:
        group, level = stack.pop()
        if group:
            yield level, group, -1
        for node in members[group]:
            yield level + 1, group, node
        stack += [(one, level + 1) for one in reversed(inner[group])]


def _row(
    document: Mapping[str, Any],
    line: tuple[int, int, int],
    overlay: Mapping[str, Any] | None,
    laid: Mapping[int, tuple[str, str]],
) -> Row:
    level, group, node = line
    if node < 0:
        groups = document["groups"]
        return Row(level, groups["name"][group], groups["kind"][group])
    nodes = document["nodes"]
    value, note = ("", "") if overlay is None else laid.get(node, ("", "no data"))
    return Row(
        level=level,
        title=document["operators"][nodes["operator"][node]],
        name=nodes["name"][node],
        node=node,
        output=next((_type(document, one) for one in nodes["outputs"][node] if one >= 0), ""),
        macs=nodes["macs"][node],
        value=value,
        note=note,
    )


def _type(document: Mapping[str, Any], tensor: int) -> str:
    tensors = document["tensors"]
    dtype, shape = tensors["dtype"][tensor], tensors["shape"][tensor]
    name = document["dtypes"][dtype] if dtype >= 0 else ""
    return name if shape is None else f"{name}[{', '.join(map(str, shape))}]"


def _laid_over(overlay: Mapping[str, Any]) -> dict[int, tuple[str, str]]:
    """Value and grade that an overlay has for each of its nodes; of several groups, the first's."""
    laid: dict[int, tuple[str, str]] = {}
    for group in overlay["groups"]:
        notes = [group.get("label", ""), group.get("grade", ""), *group.get("marks", [])]
        for node in group["nodes"]:
            laid.setdefault(node, (str(group.get("text", "")), ", ".join(filter(None, notes))))
    for node in overlay.get("folded", ()):
        laid.setdefault(node, ("", "computed at build time"))
    return laid


def overlay_columns(overlay: Mapping[str, Any]) -> dict[str, Any]:
    """An overlay in columns, its texts as places in a table: a third of the bytes of objects."""
    texts: dict[str, int] = {}
    groups = overlay["groups"]

    def column(name: str) -> list[int]:
        return [texts.setdefault(group.get(name, ""), len(texts)) for group in groups]

    columns: dict[str, Any] = {name: column(name) for name in ("id", "label", "text", "grade")}
    columns["nodes"] = [group["nodes"] for group in groups]
    columns["value"] = [group["value"] for group in groups]
    columns["marks"] = [
        [texts.setdefault(mark, len(texts)) for mark in group.get("marks", ())] for group in groups
    ]
    return {**overlay, "groups": columns, "texts": list(texts)}
