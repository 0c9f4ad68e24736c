"""Stores what other hubs measured and signed of imported revisions."""

from typing import Any

from django.db import transaction

from hpcfair.errors import HpcfairError
from hpcfair.trust.evidence import HubEvidence, open_evidence
from registry.errors import Conflict, Invalid
from registry.selectors.access import Actor, require
from registry.selectors.fair.alternate import canonical
from registry.selectors.fair.origin import imported_version
from registry.selectors.repository.revision import files_of
from registry.services.audit import audit
from registry.states import IdentifierKind, Role
from registry.tables import AlternateIdentifier, ForeignEvidence, Revision


def evidence_put(*, actor: Actor, revision: Revision, document: dict[str, Any]) -> ForeignEvidence:
    """Store the evidence of the hub that ``revision`` was imported from, or replace it.

    Args:
        revision: With its MLModel and the namespace of that.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        Invalid: ``signature_invalid``: a signature or a record in it is not valid.
        Conflict: ``invalid_state``: the revision was not imported from the version that it names.
    """
    mlmodel = revision.mlmodel
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    evidence = _opened(document)
    imported = imported_version(revision)
    named = (evidence.url, evidence.revision)
    if imported is None or imported.revision != revision or (imported.url, imported.oid) != named:
        raise Conflict(
            "invalid_state",
            f"Version {revision.oid[:10]} is no import of {evidence.url} at {evidence.revision}.",
            "Evidence belongs to the revision that brought the files.",
        )
    files = dict(files_of(revision).values_list("path", "blob_id"))
    covered = evidence.covers(files)
    with transaction.atomic():
        row, _ = ForeignEvidence.objects.update_or_create(
            revision=revision,
            defaults={
                "hub": evidence.hub,
                "document": document,
                "signed_by": evidence.signed_by if covered else "",
            },
        )
        row.identifiers.all().delete()
        if covered:
            AlternateIdentifier.objects.bulk_create(_identifiers(row, evidence))
        audit(
            actor,
            "evidence.put",
            f"{mlmodel.full_name}@{revision.oid}",
            namespace=mlmodel.namespace.name,
            detail={"hub": evidence.hub, "signed_by": row.signed_by},
        )
    return row


def _opened(document: dict[str, Any]) -> HubEvidence:
    try:
        return open_evidence(document)
    except HpcfairError as error:
        raise Invalid("signature_invalid", f"The evidence is refused: {error.detail}") from error


def _identifiers(row: ForeignEvidence, evidence: HubEvidence) -> list[AlternateIdentifier]:
    stored: dict[str, AlternateIdentifier] = {}
    for part, text in evidence.identifiers.items():
        kind = IdentifierKind.CONCEPT if part == "model" else IdentifierKind.VERSION
        if identifier := canonical(text)[:200]:
            stored[identifier] = AlternateIdentifier(evidence=row, identifier=identifier, kind=kind)
    return list(stored.values())
