"""Origins: the repositories of other servers that were imported."""

from dataclasses import dataclass

from registry.selectors.fair.source import source_version_url
from registry.states import Relation
from registry.tables import Derivation, Revision


@dataclass(frozen=True, slots=True)
class ImportedVersion:
    """What a revision was imported from.

    Attributes:
        url: The repository on its server, with ``oid``, the commit id there.
        version_url: The page of that commit.
        revision: The revision that brought it to this hub. Later ones inherit its origin.
    """

    url: str
    oid: str
    version_url: str
    revision: Revision


def imported_version(revision: Revision) -> ImportedVersion | None:
    """The origin of the files of ``revision``; ``None`` if they were not imported."""
    imports = Derivation.objects.filter(relation=Relation.IMPORT)
    row = imports.filter(revision=revision).first()
    if row is None:
        return None
    first = imports.filter(
        revision__mlmodel=revision.mlmodel_id, source=row.source, source_oid=row.source_oid
    )
    brought = first.select_related("revision").order_by("pk")[0]
    return ImportedVersion(
        row.source, row.source_oid, source_version_url(row) or row.source, brought.revision
    )
