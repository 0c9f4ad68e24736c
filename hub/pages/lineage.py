"""What a model or a data set was made from, and what was made of it: a graph, and it in words."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.addresses import address
from hub.pages.frame import frame, repository_page
from hub.pages.layers import BOX_HEIGHT, BOX_WIDTH, Box, Curve, arrange
from registry.selectors import derivation
from registry.selectors.derivation import Lineage, Node
from registry.states import Relation, RepositoryKind, Visibility
from registry.tables import MLModel

# What fits into a box.
_NAME_LENGTH = 25
#: How one came from another: beside a line, and in a sentence.
_WORDS: dict[str, tuple[str, str]] = {
    Relation.DERIVED: ("derived", "was derived from"),
    Relation.FINETUNE: ("fine-tuned", "was fine-tuned from"),
    Relation.QUANTIZED: ("quantised", "was quantised from"),
    Relation.ADAPTER: ("adapter", "is an adapter of"),
    Relation.MERGE: ("merged", "was merged from"),
    Relation.EXPORTED: ("exported", "was exported from"),
    Relation.COMPILED: ("compiled", "was compiled from"),
    Relation.DISTILLED: ("distilled", "was distilled from"),
    Relation.FORK: ("forked", "is a fork of"),
    Relation.COPY: ("copied", "is a copy of"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A node on the page.

    Attributes:
        sort: What it is, in a word or two.
        url: Its page; "" where none is known.
        lineage_url: Its own graph, or its page.
    """

    name: str
    short: str
    sort: str
    url: str
    lineage_url: str
    is_here: bool
    box: Box


@dataclass(frozen=True, slots=True)
class Line:
    """An edge in the graph."""

    label: str
    curve: Curve


@repository_page
def lineage(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """The graph around one version, as far as the asker may read."""
    context = frame(request, mlmodel, tab="lineage")
    found = derivation.lineage(request.user, mlmodel, context["revision"])
    context |= _graph(found) | {"is_whole": found.is_whole}
    return render(request, "mlmodel/lineage.html", context)


def _graph(found: Lineage) -> dict[str, Any]:
    labels: dict[tuple[str, str], list[str]] = {}
    for edge in found.edges:
        labels.setdefault((edge.source, edge.derived), []).append(_WORDS[edge.relation][0])
    drawing = arrange([node.key for node in found.nodes], labels)
    shown = {node.key: _shown(node, drawing.boxes[node.key]) for node in found.nodes}
    return {
        "drawing": drawing,
        "box": {"width": BOX_WIDTH, "height": BOX_HEIGHT},
        "nodes": list(shown.values()),
        "lines": [Line(", ".join(labels[curve.edge]), curve) for curve in drawing.curves],
        "sentences": [
            (shown[edge.derived], _WORDS[edge.relation][1], shown[edge.source])
            for edge in found.edges
        ],
    }


def _shown(node: Node, box: Box) -> Shown:
    if node.mlmodel is not None:
        url, lineage_url = address(node.mlmodel, "card"), address(node.mlmodel, "lineage")
        sort = "data set" if node.mlmodel.kind == RepositoryKind.DATASET else "model"
        sort += ", private" if node.mlmodel.visibility == Visibility.PRIVATE else ""
    else:
        url = lineage_url = node.url or ""
        sort = _elsewhere(url)
    short = node.name
    if len(short) > _NAME_LENGTH:
        short = f"{short[: _NAME_LENGTH - 1]}…"
    return Shown(
        name=node.name,
        short=short,
        sort=sort,
        url=url,
        lineage_url=lineage_url,
        is_here=node.steps == 0,
        box=box,
    )


def _elsewhere(url: str) -> str:
    if not url:
        return "not on this hub"
    if url.startswith(f"{settings.HUB_URL}/"):
        return "withdrawn"
    return urlsplit(url).hostname or "elsewhere"
