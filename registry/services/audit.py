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

    ``actor`` is ``None`` for the hub's own acts, ``action`` is ``noun.verb``, ``subject`` a public
    name, ``namespace`` the subject's, whose admins can read the entry, ``detail`` JSON values,
    never a secret.
    """
    entry = _entry(actor, action, subject, namespace, detail or {})
    entry.save(force_insert=True)


def audit_many(*, actor: Actor, action: str, details: Mapping[str, dict[str, Any]]) -> None:
    """:func:`audit` of the same action on many subjects; ``details`` maps subject to detail."""
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
