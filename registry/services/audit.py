"""The trail of writes."""

from typing import Any

from registry.selectors.access import Actor, person
from registry.tables import AuditEntry


def audit(
    *,
    actor: Actor,
    action: str,
    subject: str,
    namespace: str = "",
    detail: dict[str, Any] | None = None,
) -> None:
    """Note a write, inside the transaction that makes it.

    Args:
        actor: Who asked; ``None`` for the hub's own acts.
        action: ``noun.verb``, such as ``mlmodel.create``.
        subject: The name people know the changed thing by.
        namespace: The namespace it belongs to, so that its admins can read the entry.
        detail: JSON values; never a secret.
    """
    token = getattr(actor, "token", None)
    via = {"token": str(token.uuid)} if token is not None else {}
    AuditEntry.objects.create(
        actor=person(actor),
        action=action,
        subject=subject[:300],
        namespace=namespace,
        detail=via | (detail or {}),
    )
