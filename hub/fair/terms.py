"""``/terms``: the hub's own vocabulary as HTML, Turtle and JSON-LD."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from hub.fair.public import JSONLD, PAGE, TURTLE, preferred_type, public
from registry.fair.linked import vocabulary
from registry.fair.linked.context import HUB_TERMS, NAMESPACES
from registry.fair.linked.hpc_ontology import MATCHES
from registry.fair.linked.term import Term
from registry.fair.linked.terms import TERMS

_WRITERS = {TURTLE: vocabulary.render_turtle, JSONLD: vocabulary.render_jsonld}
#: Kind of a term to its heading, and to the relation to its parents.
_KINDS = {
    "class": ("Classes", "a kind of"),
    "property": ("Properties", "specialises"),
    "concept": ("Classes of architectures", "narrower than"),
}


@dataclass(frozen=True, slots=True)
class TermLink:
    """A link to a term of another vocabulary or to a page; ``relation`` is its text."""

    relation: str
    url: str
    text: str


@require_safe
def terms(request: HttpRequest) -> HttpResponse:
    """All terms of the hub."""
    form = preferred_type(request, (PAGE, *_WRITERS))
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
    matches = [(_link("", one), _link("", other)) for one, other in MATCHES]
    return {"namespace": HUB_TERMS, "groups": groups, "matches": matches}


def _references(term: Term) -> Iterator[TermLink]:
    for name in term.parents:
        yield _link(_KINDS[term.kind][1], name)
    for name in term.broad:
        yield _link("narrower than", name)
    for name in term.close:
        yield _link("close to", name)
    for url in term.see:
        yield TermLink("see", url, url.removeprefix("https://"))


def _link(relation: str, name: str) -> TermLink:
    prefix, _, local = name.partition(":")
    return TermLink(relation, f"{NAMESPACES[prefix]}{local}", name)
