"""What an outside client understands of a record from the JSON-LD in its page, and nothing else.

The graph decides, not the hub's own classes: what cannot be read from the served bytes is not
there. A context that would have to be fetched is not, so such a record says nothing.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rdflib import RDF, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from registry.fair.linked.context import NAMESPACES

SCHEMA, DCT, DCAT, PROV, FAIR4ML, CODEMETA, HUB = (
    Namespace(NAMESPACES[prefix])
    for prefix in ("schema", "dct", "dcat", "prov", "fair4ml", "codemeta", "hub")
)
POLICY = URIRef(f"{NAMESPACES['doc']}persistencePolicy")

_SIZE = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Claim:
    """What the metadata claim about one file; ``None`` and "" where they say nothing."""

    url: str
    size_bytes: int | None
    sha256: str
    media_type: str


@dataclass(frozen=True)
class Reading:
    """The embedded JSON-LD as a graph, seen from the record.

    Attributes:
        document: As found in the page; ``None`` if there is none.
        cite_as: The identifier that the page's header gives for the record, "" if none.
    """

    document: Any
    cite_as: str = ""

    @cached_property
    def remote_contexts(self) -> list[str]:
        """Contexts named by an address, which a client would have to fetch."""
        return sorted(set(_remote(self.document)))

    @cached_property
    def fault(self) -> str:
        """Why the document cannot be read, "" if it can."""
        if self.document is None:
            return "The page has no JSON-LD."
        if self.remote_contexts:
            return f"The context is not in the document but at {self.remote_contexts[0]}."
        return self._parsed[1]

    @cached_property
    def graph(self) -> Graph:
        """Empty where :attr:`fault` says why."""
        return self._parsed[0]

    @cached_property
    def _parsed(self) -> tuple[Graph, str]:
        # DANGER: rdflib fetches contexts that are addresses; a record must not make it.
        if self.document is None or self.remote_contexts:
            return Graph(), ""
        graph = Graph()
        try:
            graph.parse(data=json.dumps(self.document), format="json-ld")
        except Exception as error:  # noqa: BLE001 - its parser raises whatever it stumbles over
            return Graph(), f"The JSON-LD cannot be read: {error}"
        return graph, ""

    @cached_property
    def subject(self) -> URIRef | None:
        """The record: what the header cites if the graph knows it, else the outermost node."""
        candidates = [self.cite_as]
        if isinstance(self.document, dict):
            candidates.append(str(self.document.get("@id") or ""))
        known = (URIRef(one) for one in candidates if one)
        return next((one for one in known if (one, None, None) in self.graph), None)

    def nodes(self, *predicates: URIRef, of: Node | None = None) -> list[Node]:
        """Values of the record, or of another node, under any of some properties."""
        subject = self.subject if of is None else of
        if subject is None:
            return []
        return [node for one in predicates for node in self.graph.objects(subject, one)]

    def texts(self, *predicates: URIRef, of: Node | None = None) -> list[str]:
        """The same as texts without empty ones; nodes without an address say nothing."""
        found = (node for node in self.nodes(*predicates, of=of) if not isinstance(node, BNode))
        return sorted(text for node in found if (text := str(node).strip()))

    def urls(self, *predicates: URIRef, of: Node | None = None) -> list[str]:
        """Those texts that are addresses of the web."""
        return [text for text in self.texts(*predicates, of=of) if is_url(text)]

    @cached_property
    def types(self) -> set[str]:
        """Classes of the record."""
        return set(self.texts(RDF.type))

    @cached_property
    def identifiers(self) -> list[str]:
        """The record's own address and what it gives as identifiers."""
        values = [
            text
            for node in self.nodes(SCHEMA.identifier, DCT.identifier)
            for text in self._spelled(node)
        ]
        return ([str(self.subject)] if self.subject else []) + values

    @cached_property
    def claims(self) -> list[Claim]:
        """Files that can be had, in the order of their addresses."""
        made = []
        for node in self.nodes(SCHEMA.distribution, DCAT.distribution):
            urls = self.urls(SCHEMA.contentUrl, DCAT.downloadURL, of=node)
            size = " ".join(self.texts(SCHEMA.contentSize, DCAT.byteSize, of=node)[:1])
            digits = _SIZE.match(size)
            made += [
                Claim(
                    url=url,
                    size_bytes=int(digits[0]) if digits else None,
                    sha256=" ".join(self.texts(SCHEMA.sha256, of=node)[:1]),
                    media_type=" ".join(self.texts(SCHEMA.encodingFormat, of=node)[:1]),
                )
                for url in urls
            ]
        return sorted(made, key=lambda claim: claim.url)

    @cached_property
    def vocabularies(self) -> set[str]:
        """Namespaces of all properties and classes, without ``#`` or ``/`` at their end."""
        used = {node for node in self.graph.predicates() if isinstance(node, URIRef)}
        used |= {node for node in self.graph.objects(None, RDF.type) if isinstance(node, URIRef)}
        return {re.split(r"[#/][^#/]*$", str(node))[0] for node in used}

    def names(self, nodes: Iterable[Node]) -> list[str]:
        """How agents and the like are called; a text is its own name."""
        return [name for node in nodes for name in self._spelled(node)]

    def _spelled(self, node: Node) -> list[str]:
        if isinstance(node, Literal):
            return [str(node).strip()] if str(node).strip() else []
        own = self.texts(SCHEMA.value, SCHEMA.name, of=node)
        return own or ([str(node)] if isinstance(node, URIRef) else [])


def is_url(text: str) -> bool:
    """Whether it is an address of the web without blanks."""
    return re.fullmatch(r"https?://[^\s<>\"]+", text) is not None


def _remote(value: Any) -> Iterator[str]:
    """Addresses at which the contexts of a JSON-LD document lie, however deep."""
    if isinstance(value, list):
        for item in value:
            yield from _remote(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            contexts = item if isinstance(item, list) else [item]
            if key in {"@context", "@import"}:
                yield from (context for context in contexts if isinstance(context, str))
            yield from _remote(item)
