"""Evidence of other hubs on imported revisions."""

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from hpcfair.trust.evidence import HubEvidence, is_trusted, open_evidence
from registry.errors import NotFound
from registry.tables import ForeignEvidence, ForeignHub, Revision


@dataclass(frozen=True)
class ForeignEvidenceView:
    """The evidence on a revision as it is shown.

    Attributes:
        is_trusted: Whether it is signed by keys that follow from one that operators trust.
    """

    row: ForeignEvidence
    evidence: HubEvidence
    is_trusted: bool

    @property
    def host(self) -> str:
        """Name of the other hub."""
        return urlsplit(self.row.hub).netloc or self.row.hub

    @cached_property
    def identifiers(self) -> list[str]:
        """Persistent identifiers that the other hub signed with the files."""
        return list(self.row.identifiers.order_by("pk").values_list("identifier", flat=True))


def evidence_of(revision: Revision) -> ForeignEvidenceView | None:
    """The evidence on ``revision``; ``None`` if it has none."""
    row = ForeignEvidence.objects.filter(revision=revision).first()
    if row is None:
        return None
    return ForeignEvidenceView(row, open_evidence(row.document), is_hub_trusted(row))


def evidence_get(revision: Revision) -> ForeignEvidenceView:
    """As :func:`evidence_of`. Raises ``NotFound`` ``evidence_not_found``."""
    view = evidence_of(revision)
    if view is None:
        raise NotFound(
            "evidence_not_found",
            f"Version {revision.oid[:10]} has no evidence of another hub.",
            "`hpcfair mirror` and `hpcfair import` of a model bundle bring it.",
        )
    return view


def is_hub_trusted(row: ForeignEvidence) -> bool:
    """Whether operators trust a key from which those of the evidence follow."""
    trusted = ForeignHub.objects.filter(url=row.hub).first()
    return trusted is not None and is_trusted(row.document, trusted.keyid)


def trusted_hubs() -> list[ForeignHub]:
    """The hubs that operators trust, by address."""
    return list(ForeignHub.objects.order_by("url"))
