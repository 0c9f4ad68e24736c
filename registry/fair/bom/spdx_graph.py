"""Builder of SPDX 3.0.1 elements (Core profile), serialised as JSON-LD (section 6)."""

from datetime import datetime
from typing import Any

from registry.fair.bom.common import utc
from registry.fair.iris import iri
from registry.fair.parts import Agent, Software
from registry.fair.serialise import drop_empty

_CONTEXT = "https://spdx.org/rdf/3.0.1/spdx-context.jsonld"
_CREATION = "_:creation"
#: SPDX's word for what the author of a document does not state.
NO_ASSERTION = "NOASSERTION"
#: SPDX's individual for "no element", as the required download location of what was deleted.
NOWHERE = "https://spdx.org/rdf/3.0.1/terms/Core/NoneElement"


class SpdxGraph:
    """Elements with identifiers below one address, in the order of addition.

    SPDX elements are immutable and their identifiers global; people and data sets therefore get
    identifiers below the document's address, with their ORCID or PID as external identifiers.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self._elements: list[dict[str, Any]] = []
        self._counts: dict[str, int] = {}
        self._agents: dict[Agent, str] = {}
        self._tools: dict[Software, str] = {}

    @property
    def ids(self) -> list[str]:
        """The identifiers of all elements so far."""
        return [element["spdxId"] for element in self._elements]

    def add(self, kind: str, slug: str, **properties: Any) -> str:
        """Add an element of class ``kind``; its identifier ends in ``#<slug>-<number>``."""
        self._counts[slug] = self._counts.get(slug, 0) + 1
        return self.add_as(f"{self.base}#{slug}-{self._counts[slug]}", kind, **properties)

    def add_as(self, spdx_id: str, kind: str, **properties: Any) -> str:
        """Add an element with the identifier ``spdx_id``."""
        self._elements.append(
            drop_empty(type=kind, spdxId=spdx_id, creationInfo=_CREATION, **properties)
        )
        return spdx_id

    def relate(
        self, source: str, kind: str, targets: list[str], comment: str | None = None
    ) -> None:
        """Relate ``source`` to ``targets``, if there are any."""
        if targets:
            self.add(
                "Relationship",
                "relationship",
                comment=comment,
                relationshipType=kind,
                to=targets,
                **{"from": source},
            )

    def annotate(self, subject: str, statement: str | None) -> None:
        """Annotate an element, if ``statement`` is not empty."""
        if statement:
            self.add(
                "Annotation",
                "annotation",
                annotationType="other",
                contentType="text/plain",
                statement=statement,
                subject=subject,
            )

    def agent(self, agent: Agent) -> str:
        """The element of an agent; equal agents share one."""
        if agent not in self._agents:
            kind = "Person" if agent.kind == "person" else "Organization"
            identifiers = [external_id("other", one) for one in (agent.orcid, agent.ror) if one]
            if agent.email:
                identifiers.append(external_id("email", agent.email))
            self._agents[agent] = self.add(
                kind,
                kind.lower(),
                name=agent.name,
                externalIdentifier=identifiers,
                externalRef=external_refs("altWebPage", agent.url),
            )
        return self._agents[agent]

    def unknown_agent(self) -> str:
        """The element of an agent whom the record does not name."""
        return self.add("Agent", "agent", name=NO_ASSERTION)

    def tool(self, tool: Software) -> str:
        """The element of a program; equal programs share one."""
        if tool not in self._tools:
            self._tools[tool] = self.add(
                "Tool",
                "tool",
                name=" ".join(filter(None, (tool.name, tool.version))),
                externalIdentifier=[external_id("packageUrl", tool.purl)] if tool.purl else (),
            )
        return self._tools[tool]

    def document(self, created: datetime, by: str) -> dict[str, Any]:
        """The document as JSON-LD, created by the agent ``by``."""
        creation = {
            "type": "CreationInfo",
            "@id": _CREATION,
            "specVersion": "3.0.1",
            "created": utc(created),
            "createdBy": [by],
        }
        return {"@context": _CONTEXT, "@graph": [creation, *self._elements]}


def external_id(kind: str, identifier: str, comment: str | None = None) -> dict[str, Any]:
    """An ``ExternalIdentifier``."""
    return drop_empty(
        type="ExternalIdentifier",
        externalIdentifierType=kind,
        identifier=identifier,
        comment=comment,
    )


def external_refs(
    kind: str, locator: str | None, comment: str | None = None
) -> list[dict[str, Any]]:
    """An ``ExternalRef`` as a list, which is empty without an address."""
    address = iri(locator)
    if address is None:
        return []
    return [
        drop_empty(type="ExternalRef", externalRefType=kind, locator=[address], comment=comment)
    ]


def entry(key: str, value: str) -> dict[str, str]:
    """A ``DictionaryEntry``."""
    return {"type": "DictionaryEntry", "key": key, "value": value}


def sha256(digest: str) -> list[dict[str, str]]:
    """The ``verifiedUsing`` of a digest."""
    return [{"type": "Hash", "algorithm": "sha256", "hashValue": digest}]
