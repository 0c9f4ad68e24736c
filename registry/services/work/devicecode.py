"""One-time codes by which machines join the fleet; only their digests are stored."""

import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from registry.errors import NotFound
from registry.selectors.access import Actor, person, require_staff
from registry.selectors.people.account import secret_digest
from registry.selectors.work.target import target_get
from registry.services.audit import audit
from registry.tables import Device, DeviceCode, User

LIFETIME = timedelta(hours=1)
# Letters that are hard to confuse and form no words; 20^16 codes are 69 bits.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"


def device_code_issue(*, actor: Actor, target: str | None, owner: User | None = None) -> str:
    """Issue a code with which one machine can be enrolled within an hour. Only its digest is
    stored.

    Args:
        target: Slug of the target to serve; ``None`` for that of the machine's processor.
        owner: Owner of the device; by default the actor.

    Raises:
        Unauthenticated, Forbidden: the actor is not an operator of the hub.
        NotFound: ``target_not_found``.
    """
    require_staff(actor)
    row = target_get(target) if target else None
    owner = owner or person(actor)
    letters = "".join(secrets.choice(_LETTERS) for _ in range(16))
    now = timezone.now()
    with transaction.atomic():
        DeviceCode.objects.filter(expires_at__lt=now, device=None).delete()
        code = DeviceCode.objects.create(
            digest=secret_digest(letters), target=row, owner=owner, expires_at=now + LIFETIME
        )
        detail = {"target": target, "owner": owner.username if owner else None}
        audit(actor, "device_code.issue", str(code.pk), detail=detail)
    return "-".join(letters[start : start + 4] for start in range(0, 16, 4))


def device_code_take(code: str) -> DeviceCode:
    """The row of a code, locked until the caller's transaction ends.

    Raises ``NotFound``: ``code_not_found``: unknown, used or expired.
    """
    letters = code.replace("-", "").replace(" ", "").upper()
    rows = DeviceCode.objects.select_for_update(of=("self",)).select_related("target", "owner")
    row = rows.filter(
        digest=secret_digest(letters), used_at=None, expires_at__gt=timezone.now()
    ).first()
    if row is None:
        raise NotFound(
            "code_not_found",
            "The code was used, has expired, or never existed.",
            "Ask an operator for a new one; it is valid for an hour.",
        )
    return row


def device_code_spend(row: DeviceCode, device: Device) -> None:
    """Store that a device used the code, in the transaction of :func:`device_code_take`."""
    DeviceCode.objects.filter(pk=row.pk).update(used_at=timezone.now(), device=device)
