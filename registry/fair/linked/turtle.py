"""Turtle (RDF 1.1 Turtle, W3C 2014), made from JSON-LD so that both have the same triples."""

import itertools
import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from rdflib import Graph, Literal
from rdflib.namespace import XSD
from rdflib.plugins.serializers.turtle import TurtleSerializer
from rdflib.term import Node

from registry.fair.description import Description
from registry.fair.linked.context import NAMESPACES
from registry.fair.linked.jsonld import document


def render(description: Description) -> bytes:
    """The record as Turtle."""
    return turtle(document(description))


def turtle(jsonld: dict[str, Any]) -> bytes:
    """Turtle of a JSON-LD document with an inline context; the bytes are reproducible."""
    stream = BytesIO()
    _Serializer(graph(jsonld)).serialize(stream)
    return stream.getvalue()


def graph(jsonld: dict[str, Any]) -> Graph:
    """The triples of a JSON-LD document with an inline context."""
    triples = Graph(bind_namespaces="none")
    triples.parse(data=json.dumps(_labelled(jsonld, itertools.count(1))), format="json-ld")
    # After parsing, because ``@vocab`` binds schema.org to the empty prefix.
    for prefix, namespace in NAMESPACES.items():
        triples.bind(prefix, namespace, replace=True)
    return triples


class _Serializer(TurtleSerializer):
    """Writes texts on one line with JSON escapes, which are valid in Turtle, and all digits.

    The library's quoting fails on multi-line texts that end in a backslash and a quotation mark,
    and its doubles have seven digits.
    """

    def label(self, node: Node, position: int) -> str:
        if isinstance(node, Literal) and not node.language:
            if node.datatype in {None, XSD.string}:
                return json.dumps(str(node), ensure_ascii=False)
            if node.datatype == XSD.double:
                return f"{json.dumps(str(node))}^^{self.get_pname(XSD.double)}"
        return str(super().label(node, position))


def _labelled(value: Any, numbers: Iterator[int]) -> Any:
    """``value`` with a label on each blank node, and whole numbers as integers.

    The parser would choose random labels, by which the serialiser sorts. ``1.0`` is an integer in
    JSON-LD, but the parser goes by Python's type.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_labelled(item, numbers) for item in value]
    if not isinstance(value, dict) or "@value" in value:
        return value
    labelled = {
        key: item if key == "@context" else _labelled(item, numbers) for key, item in value.items()
    }
    if "@list" in labelled or "@graph" in labelled:
        return labelled
    return {"@id": f"_:n{next(numbers):05}"} | labelled
