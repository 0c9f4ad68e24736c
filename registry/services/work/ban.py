"""Bans of candidates that took devices down."""

from typing import Any

from django.db import transaction

from registry.selectors.access import Actor, require_staff
from registry.services.audit import audit
from registry.tables import Ban, CandidateCrash, Job

#: Number of devices of a target that must fall silent during the same candidate before it is
#: banned. A single device may have failed for another reason.
CRASHES_TO_BAN = 2


def crash_add(job: Job) -> Ban | None:
    """Store that the device of a job fell silent; call it in the transaction that ends the attempt.

    Returns:
        The ban of the candidate that the device was trying, if the candidate has now taken
        :data:`CRASHES_TO_BAN` devices down; else ``None``.
    """
    if not job.candidate or job.target is None or job.device is None:
        return None
    identity: dict[str, Any] = {"target": job.target, "config_sha256": job.candidate}
    CandidateCrash.objects.get_or_create(**identity, device=job.device)
    crashes = CandidateCrash.objects.filter(**identity).select_related("device")
    names = sorted(crash.device.name for crash in crashes)
    if len(names) < CRASHES_TO_BAN:
        return None
    reason = f"It took down {' and '.join(names)}."
    with transaction.atomic():
        ban, is_new = Ban.objects.get_or_create(**identity, defaults={"reason": reason})
        if is_new:
            audit(
                None,
                "candidate.ban",
                f"{job.target.slug} {job.candidate}",
                detail={"devices": names, "job": str(job.uuid)},
            )
    return ban


def ban_lift(*, actor: Actor, ban: Ban) -> None:
    """Let a candidate be tried again. It is banned again if it takes two more devices down.

    Raises ``Unauthenticated`` or ``Forbidden`` if the actor is not an operator of the hub.
    """
    require_staff(actor)
    identity = {"target": ban.target, "config_sha256": ban.config_sha256}
    with transaction.atomic():
        CandidateCrash.objects.filter(**identity).delete()
        if Ban.objects.filter(**identity).delete()[0]:
            audit(actor, "candidate.unban", f"{ban.target.slug} {ban.config_sha256}")
