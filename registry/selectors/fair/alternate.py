"""Persistent identifiers of other hubs, whose targets are mirrored here.

An identifier leads to a mirror only if the other hub signed it with exactly the files that the
mirror has, by a key that operators trust: otherwise whoever writes to this hub could take over the
identifiers of others.
"""

from collections.abc import Collection

from registry.fair import ark
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.trust.evidence import is_hub_trusted
from registry.states import IdentifierKind, RefKind
from registry.tables import AlternateIdentifier, Identifier, Ref

_DOI = "doi:"
_DOI_RESOLVER = "https://doi.org"
#: Mirrors of one identifier that are tried, the oldest first.
_MOST_MIRRORS = 100


def canonical(text: str) -> str:
    """An ARK or a DOI as it is stored and compared; "" if ``text`` is neither."""
    plain = text.strip().lower()
    if plain.startswith(_DOI):
        return plain
    parsed = ark.parse(text)
    return ark.written(parsed.naan, parsed.name) if parsed else ""


def mirror_identifier(actor: Actor, text: str) -> Identifier | None:
    """This hub's identifier of the mirror that an identifier of another hub leads to; ``None``
    without one that the actor may read.

    An identifier of all versions leads to a mirror only while its newest version is as the other
    hub signed it.
    """
    stored = canonical(text)
    if not stored:
        return None
    rows = AlternateIdentifier.objects.filter(
        identifier=stored, evidence__revision__mlmodel__in=readable_repositories(actor)
    ).select_related("evidence__revision__mlmodel")
    for row in rows.order_by("evidence__revision", "pk")[:_MOST_MIRRORS]:
        if (own := _own(row)) and is_hub_trusted(row.evidence):
            return own
    return None


def alternates_of(revisions: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Key of a revision to the addresses of the identifiers that it has at another hub."""
    rows = AlternateIdentifier.objects.filter(
        evidence__in=revisions, kind=IdentifierKind.VERSION
    ).order_by("pk")
    alternates: dict[int, tuple[str, ...]] = {}
    for revision, hub, text in rows.values_list("evidence", "evidence__hub", "identifier"):
        url = f"{_DOI_RESOLVER}/{text.removeprefix(_DOI)}"
        address = url if text.startswith(_DOI) else f"{hub}/{text}"
        alternates[revision] = (*alternates.get(revision, ()), address)
    return alternates


def _own(row: AlternateIdentifier) -> Identifier | None:
    revision = row.evidence.revision
    rows = Identifier.objects.select_related("mlmodel__namespace", "revision")
    if row.kind == IdentifierKind.VERSION:
        return rows.filter(revision=revision, withdrawn_at=None).first()
    head = Ref.objects.filter(
        mlmodel=revision.mlmodel_id, kind=RefKind.BRANCH, name=revision.mlmodel.default_branch
    )
    if not head.filter(revision=revision).exists():
        return None
    return rows.filter(mlmodel=revision.mlmodel_id, kind=IdentifierKind.CONCEPT).first()
