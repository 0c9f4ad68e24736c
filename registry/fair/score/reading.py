"""Reads the JSON-LD that is embedded in the page of a record. Only the served bytes count: a
document that needs a remote context is empty."""

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

#: Qualified links to related entities.
RELATIONS = (
    DCT.isVersionOf, DCT.hasVersion, DCT.isPartOf, DCT.references, DCT.source, DCT.relation,
    DCT.replaces, DCT.isReplacedBy, SCHEMA.isBasedOn, SCHEMA.citation, SCHEMA.isPartOf,
    SCHEMA.hasPart, SCHEMA.codeRepository, PROV.wasDerivedFrom, PROV.wasRevisionOf,
    FAIR4ML.trainedOn, FAIR4ML.testedOn, FAIR4ML.validatedOn, FAIR4ML.fineTunedFrom,
    CODEMETA.referencePublication,
)  # fmt: skip
#: Training data and base models.
SOURCES = (
    FAIR4ML.trainedOn, FAIR4ML.fineTunedFrom, PROV.wasDerivedFrom, HUB.quantizedFrom,
    HUB.adaptedFrom, HUB.mergedFrom, HUB.exportedFrom, HUB.compiledFrom, HUB.distilledFrom,
    HUB.forkedFrom, HUB.copiedFrom,
)  # fmt: skip
#: Terms of provenance: PROV-DC (W3C Note 2013) and PROV-O itself.
PROVENANCE = (
    SCHEMA.creator, SCHEMA.author, SCHEMA.contributor, SCHEMA.publisher, SCHEMA.dateCreated,
    SCHEMA.datePublished, SCHEMA.dateModified, SCHEMA.isBasedOn, DCT.creator, DCT.publisher,
    DCT.created, DCT.issued, DCT.modified, DCT.isVersionOf, DCT.source, PROV.wasGeneratedBy,
    PROV.wasDerivedFrom, PROV.generatedAtTime,
)  # fmt: skip
#: Vocabularies listed by Linked Open Vocabularies and FAIRsharing that records of models use.
#: General-purpose ones such as schema.org and Dublin Core do not count.
REGISTERED = frozenset({
    "http://www.w3.org/ns/prov", "http://www.w3.org/ns/dcat", "http://www.w3.org/ns/dqv",
    "http://www.w3.org/ns/odrl/2", "http://www.w3.org/ns/adms", "http://www.w3.org/ns/org",
    "http://spdx.org/rdf/terms", "http://mlcommons.org/croissant", "http://purl.org/pav",
})  # fmt: skip
#: Multidisciplinary standards in the catalogue of the Research Data Alliance.
COMMUNITY = frozenset({
    "http://purl.org/dc/terms", "http://www.w3.org/ns/dcat", "http://www.w3.org/ns/prov",
    "http://mlcommons.org/croissant",
})  # fmt: skip

_SIZE = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Claim:
    """The metadata of one file; ``None`` and "" where they are absent."""

    url: str
    size_bytes: int | None
    sha256: str
    media_type: str


@dataclass(frozen=True)
class Reading:
    """The embedded JSON-LD (``document``, parsed; ``None`` if absent) as a graph. ``cite_as`` is
    the target of the ``cite-as`` link in the page's header, "" if none."""

    document: Any
    cite_as: str = ""

    @cached_property
    def remote_contexts(self) -> list[str]:
        """Addresses of contexts that a client would have to fetch."""
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
        """All statements; empty if there is a :attr:`fault`."""
        return self._parsed[0]

    @cached_property
    def _parsed(self) -> tuple[Graph, str]:
        # DANGER: rdflib would fetch remote contexts, at addresses that the record chooses.
        if self.document is None or self.remote_contexts:
            return Graph(), ""
        graph = Graph()
        try:
            graph.parse(data=json.dumps(self.document), format="json-ld")
        except Exception as error:  # noqa: BLE001 - the parser raises arbitrary errors
            return Graph(), f"The JSON-LD cannot be read: {error}"
        return graph, ""

    @cached_property
    def subject(self) -> URIRef | None:
        """The record: the node that the header cites, else the outermost node."""
        candidates = [self.cite_as]
        if isinstance(self.document, dict):
            candidates.append(str(self.document.get("@id") or ""))
        uris = (URIRef(one) for one in candidates if one)
        return next((one for one in uris if (one, None, None) in self.graph), None)

    def nodes(self, *predicates: URIRef, of: Node | None = None) -> list[Node]:
        """Values of these properties of the record, or of the node ``of``."""
        subject = self.subject if of is None else of
        if subject is None:
            return []
        return [node for one in predicates for node in self.graph.objects(subject, one)]

    def texts(self, *predicates: URIRef, of: Node | None = None) -> list[str]:
        """Sorted non-empty texts among :meth:`nodes`; blank nodes are left out."""
        nodes = (node for node in self.nodes(*predicates, of=of) if not isinstance(node, BNode))
        return sorted(text for node in nodes if (text := str(node).strip()))

    def urls(self, *predicates: URIRef, of: Node | None = None) -> list[str]:
        """Web addresses among :meth:`texts`."""
        return [text for text in self.texts(*predicates, of=of) if is_url(text)]

    @cached_property
    def types(self) -> set[str]:
        """Classes of the record."""
        return set(self.texts(RDF.type))

    @cached_property
    def identifiers(self) -> list[str]:
        """The record's own address and its stated identifiers."""
        values = [
            text
            for node in self.nodes(SCHEMA.identifier, DCT.identifier)
            for text in self._names(node)
        ]
        return ([str(self.subject)] if self.subject else []) + values

    @cached_property
    def claims(self) -> list[Claim]:
        """Downloadable files, sorted by address."""
        claims = []
        for node in self.nodes(SCHEMA.distribution, DCAT.distribution):
            urls = self.urls(SCHEMA.contentUrl, DCAT.downloadURL, of=node)
            size = " ".join(self.texts(SCHEMA.contentSize, DCAT.byteSize, of=node)[:1])
            digits = _SIZE.match(size)
            claims += [
                Claim(
                    url=url,
                    size_bytes=int(digits[0]) if digits else None,
                    sha256=" ".join(self.texts(SCHEMA.sha256, of=node)[:1]),
                    media_type=" ".join(self.texts(SCHEMA.encodingFormat, of=node)[:1]),
                )
                for url in urls
            ]
        return sorted(claims, key=lambda claim: claim.url)

    @cached_property
    def vocabularies(self) -> set[str]:
        """Namespaces of all properties and classes, without a final ``#`` or ``/``."""
        used = {node for node in self.graph.predicates() if isinstance(node, URIRef)}
        used |= {node for node in self.graph.objects(None, RDF.type) if isinstance(node, URIRef)}
        return {re.split(r"[#/][^#/]*$", str(node))[0] for node in used}

    def names(self, nodes: Iterable[Node]) -> list[str]:
        """Names of agents and other nodes; a literal is its own name."""
        return [name for node in nodes for name in self._names(node)]

    def _names(self, node: Node) -> list[str]:
        if isinstance(node, Literal):
            return [str(node).strip()] if str(node).strip() else []
        own = self.texts(SCHEMA.value, SCHEMA.name, of=node)
        return own or ([str(node)] if isinstance(node, URIRef) else [])


def is_url(text: str) -> bool:
    """Whether ``text`` is an HTTP or HTTPS address without blanks."""
    return re.fullmatch(r"https?://[^\s<>\"]+", text) is not None


def _remote(value: Any) -> Iterator[str]:
    """Addresses of remote contexts anywhere in a JSON-LD document."""
    if isinstance(value, list):
        for item in value:
            yield from _remote(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            contexts = item if isinstance(item, list) else [item]
            if key in {"@context", "@import"}:
                yield from (context for context in contexts if isinstance(context, str))
            yield from _remote(item)
