"""``/terms``: the hub's own vocabulary, for machines and for people."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from hub.fair.public import JSONLD, PAGE, TURTLE, public, wanted
from registry.fair.linked import vocabulary
from registry.fair.linked.context import HUB_TERMS, NAMESPACES
from registry.fair.linked.hpc_ontology import MATCHES
from registry.fair.linked.term import Term
from registry.fair.linked.terms import TERMS

_WRITERS = {TURTLE: vocabulary.render_turtle, JSONLD: vocabulary.render_jsonld}
#: Kind of a term to the heading above those of that kind, and to what its parents are to it.
_KINDS = {
    "class": ("Classes", "a kind of"),
    "property": ("Properties", "specialises"),
    "concept": ("Classes of architectures", "narrower than"),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """Another vocabulary's term, or a page. ``relation`` is what leads there, in words."""

    relation: str
    url: str
    text: str


@require_safe
def terms(request: HttpRequest) -> HttpResponse:
    """Every term that the hub declares."""
    form = wanted(request, (PAGE, *_WRITERS))
    if form == PAGE:
        response = render(request, "fair/terms.html", _context())
    else:
        response = public(request, _WRITERS[form](), form)
    patch_vary_headers(response, ["Accept"])
    return response


def _context() -> dict[str, object]:
    groups = [
        (heading, [(term, list(_references(term))) for term in TERMS if term.kind == kind])
        for kind, (heading, _) in _KINDS.items()
    ]
    matches = [(_named("", one), _named("", other)) for one, other in MATCHES]
    return {"namespace": HUB_TERMS, "groups": groups, "matches": matches}


def _references(term: Term) -> Iterator[Reference]:
    for name in term.parents:
        yield _named(_KINDS[term.kind][1], name)
    for name in term.broad:
        yield _named("narrower than", name)
    for name in term.close:
        yield _named("close to", name)
    for url in term.see:
        yield Reference("see", url, url.removeprefix("https://"))


def _named(relation: str, name: str) -> Reference:
    prefix, _, local = name.partition(":")
    return Reference(relation, f"{NAMESPACES[prefix]}{local}", name)
