"""Findings about the card of a version."""

from registry.fair.card.card import LICENSE_FILES
from registry.fair.card.contradictions import Computed
from registry.fair.card.findings import findings_in
from registry.selectors.fair.derivation import ancestors
from registry.selectors.repository.revision import text_of
from registry.selectors.results.graph import graph_of, network_of
from registry.selectors.storage.blob import blob_open
from registry.tables import Revision
from registry.validation.card import MAX_CARD_BYTES
from registry.validation.findings import CardFinding

#: Longer files are not taken for licenses.
_LICENSE_BYTES = 200_000


def findings_of(revision: Revision) -> tuple[CardFinding, ...]:
    """Problems in a readable version's README.md, by line; empty without one.

    The version's files are compared with the card.
    """
    file = revision.files.select_related("blob").filter(path="README.md").first()
    if file is None:
        return ()
    with blob_open(file.blob) as stream:
        # One byte more, so that a file that is too long is recognized.
        data = stream.read(MAX_CARD_BYTES + 1)
    graph = graph_of(revision)
    computed = Computed(
        network=network_of(graph) if graph else None,
        paths=tuple(revision.files.values_list("path", flat=True)),
        license_text=license_text(revision),
    )
    repository = revision.mlmodel.full_name
    return findings_in(data, repository=repository, parents=ancestors, computed=computed)


def license_text(revision: Revision) -> str:
    """The text of a version's license file, "" without one."""
    present = set(revision.files.filter(path__in=LICENSE_FILES).values_list("path", flat=True))
    path = next((path for path in LICENSE_FILES if path in present), None)
    return (text_of(revision, path, most_bytes=_LICENSE_BYTES) or "") if path else ""
