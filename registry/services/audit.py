"""The audit log of writes."""

from collections.abc import Mapping
from typing import Any

from registry.selectors.access import Actor, person
from registry.tables import AuditEntry


def audit(
    actor: Actor,
    action: str,
    subject: str,
    *,
    namespace: str = "",
    detail: dict[str, Any] | None = None,
) -> None:
    """Log a write, inside the transaction that makes it.

    Args:
        actor: ``None`` for the hub's own acts.
        action: ``noun.verb``, such as ``mlmodel.create``.
        subject: Public name of the changed object.
        namespace: The namespace it belongs to, whose admins can read the entry.
        detail: JSON values; never a secret.
    """
    entry = _entry(actor, action, subject, namespace, detail or {})
    entry.save(force_insert=True)


def audit_many(*, actor: Actor, action: str, details: Mapping[str, dict[str, Any]]) -> None:
    """:func:`audit` of the same action on many subjects: subject to detail."""
    AuditEntry.objects.bulk_create(
        _entry(actor, action, subject, "", detail) for subject, detail in details.items()
    )


def _entry(
    actor: Actor, action: str, subject: str, namespace: str, detail: dict[str, Any]
) -> AuditEntry:
    token = getattr(actor, "token", None)
    via = {"token": str(token.uuid)} if token is not None else {}
    return AuditEntry(
        actor=person(actor),
        action=action,
        subject=subject[:300],
        namespace=namespace,
        detail=via | detail,
    )
