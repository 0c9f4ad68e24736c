"""RDF/XML (RDF 1.1 XML Syntax, W3C 2014), made from JSON-LD so that both have the same triples."""

from io import BytesIO
from typing import Any

from rdflib import RDF, BNode, Graph, Literal
from rdflib.plugins.serializers.rdfxml import XMLSerializer
from rdflib.term import Node

from registry.fair.description import Description
from registry.fair.linked.jsonld import document
from registry.fair.linked.turtle import graph
from registry.fair.xmltree import representable


def render(description: Description) -> bytes:
    """The record as RDF/XML; the bytes are reproducible. Characters that XML cannot represent
    become U+FFFD."""
    triples = graph(document(description))
    ordered = _OrderedGraph(bind_namespaces="none", namespace_manager=triples.namespace_manager)
    labels = _list_labels(triples)
    for subject, predicate, node in triples:
        value = _writable(node) if isinstance(node, Literal) else labels.get(node, node)
        ordered.add((labels.get(subject, subject), predicate, value))
    stream = BytesIO()
    XMLSerializer(ordered).serialize(stream)
    return stream.getvalue()


class _OrderedGraph(Graph):
    """Triples in alphabetical order: the library's writer takes them as they come from a set."""

    def triples(self, triple: Any) -> Any:
        yield from sorted(super().triples(triple), key=_key)


def _key(triple: tuple[Node, Node, Node]) -> tuple[str, ...]:
    return tuple(part for node in triple for part in (str(node), repr(node)))


def _list_labels(triples: Graph) -> dict[Node, Node]:
    """New labels of the nodes of lists, whose labels the library chooses at random."""
    heads = sorted(
        (str(owner), str(predicate), head)
        for head in triples.subjects(RDF.first)
        for owner, predicate in triples.subject_predicates(head)
        if predicate != RDF.rest
    )
    labels: dict[Node, Node] = {}
    for number, (_, _, head) in enumerate(heads):
        node: Node | None = head
        while node not in {None, RDF.nil}:
            labels[node] = BNode(f"list{number:05}x{len(labels):05}")
            node = triples.value(node, RDF.rest)
    return labels


def _writable(literal: Literal) -> Literal:
    return Literal(representable(str(literal)), lang=literal.language, datatype=literal.datatype)
