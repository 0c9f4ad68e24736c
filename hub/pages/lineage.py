"""The lineage of a model or a data set: graph, sentences, activities."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.addresses import address
from hub.pages.frame import frame, repository_page
from hub.pages.kin import Kin, acts_of, kin_of
from hub.pages.layers import BOX_HEIGHT, BOX_WIDTH, Box, Curve, arrange
from registry.selectors.fair import derivation
from registry.selectors.fair.derivation import Lineage, Node
from registry.selectors.fair.description import describe
from registry.selectors.fair.origin import imported_version
from registry.states import Relation, RepositoryKind, Visibility
from registry.tables import MLModel

# Characters that fit into a box.
_NAME_LENGTH = 25
#: Relation: edge label, and verb of the sentence.
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
    Relation.IMPORT: ("imported", "was imported from"),
}


@dataclass(frozen=True, slots=True)
class ShownNode:
    """A node on the page.

    Attributes:
        sort: Short description of its kind.
        url, lineage_url: Addresses of its page, "" if it has none, and of its lineage or else page.
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
    """The lineage of one version, restricted to what the user may read."""
    context = frame(request, mlmodel, tab="lineage")
    revision = context["revision"]
    revision.mlmodel = mlmodel
    graph = derivation.lineage(request.user, mlmodel, revision)
    description = describe(revision)
    kin, is_all = kin_of(request.user, mlmodel, description)
    context |= _graph(graph, kin)
    context["origin"] = imported_version(revision)
    context["license"] = description.license.expression if description.license else ""
    context["is_whole"] = graph.is_whole and is_all
    context["acts"] = acts_of(description)
    context["acts_omitted"] = len(description.activities) - len(context["acts"])
    context["acts_omitted"] += description.activities_omitted
    return render(request, "mlmodel/lineage.html", context)


def _graph(lineage: Lineage, kin: Sequence[Kin]) -> dict[str, Any]:
    here = next(node.key for node in lineage.nodes if node.steps == 0)
    keys_here = {address(node.mlmodel, "card"): node.key for node in lineage.nodes if node.mlmodel}
    # A data set may also be a source; then its node exists already.
    keys = {one.key: keys_here.get(one.url, one.key) for one in kin}
    relations = [(edge.source, edge.derived, _WORDS[edge.relation]) for edge in lineage.edges]
    for one in kin:
        ends = (keys[one.key], here) if one.is_origin else (here, keys[one.key])
        relations.append((*ends, (one.label, one.words)))
    labels: dict[tuple[str, str], dict[str, None]] = {}
    for source, derived, (label, _) in relations:
        if source != derived:
            labels.setdefault((source, derived), {})[label] = None
    nodes = {node.key: partial(_shown, node) for node in lineage.nodes}
    nodes |= {keys[one.key]: partial(_kin, one) for one in kin if keys[one.key] not in nodes}
    drawing = arrange(list(nodes), labels)
    shown = {key: make(drawing.boxes[key]) for key, make in nodes.items()}
    return {
        "drawing": drawing,
        "box": {"width": BOX_WIDTH, "height": BOX_HEIGHT},
        "nodes": list(shown.values()),
        "lines": [Line(", ".join(labels[curve.edge]), curve) for curve in drawing.curves],
        "sentences": [
            (shown[derived], words, shown[source]) for source, derived, (_, words) in relations
        ],
    }


def _kin(one: Kin, box: Box) -> ShownNode:
    return ShownNode(
        name=one.name,
        short=_shortened(one.short),
        sort=_shortened(one.sort),
        url=one.url,
        lineage_url=one.lineage_url,
        is_here=False,
        box=box,
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _NAME_LENGTH else f"{text[: _NAME_LENGTH - 1]}…"


def _shown(node: Node, box: Box) -> ShownNode:
    if node.mlmodel is not None:
        url, lineage_url = address(node.mlmodel, "card"), address(node.mlmodel, "lineage")
        sort = "data set" if node.mlmodel.kind == RepositoryKind.DATASET else "model"
        sort += ", private" if node.mlmodel.visibility == Visibility.PRIVATE else ""
    else:
        url = lineage_url = node.url or ""
        sort = _elsewhere(url)
    return ShownNode(
        name=node.name,
        short=_shortened(node.name),
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
