"""Targets that people's machines belong to, as their requests to load models tell them."""

from collections.abc import Collection
from datetime import timedelta

from django.utils import timezone

from registry.selectors.access import Actor, person
from registry.selectors.work.target import target_of_machine
from registry.tables import UserTarget

#: How old the time of a target may be: most loads write nothing.
_PRECISION = timedelta(days=1)


def usertarget_note(*, actor: Actor, architecture: str, features: Collection[str]) -> None:
    """Store the closest target of the machine that ``actor`` loads a model on.

    Nothing is stored of people without an account, and of machines that fit no target.
    """
    user = person(actor)
    if user is None:
        return
    target = target_of_machine(architecture, features)
    if target is None:
        return
    now = timezone.now()
    newer = UserTarget.objects.filter(user=user, target=target, used_at__gt=now - _PRECISION)
    if not newer.exists():
        UserTarget.objects.update_or_create(user=user, target=target, defaults={"used_at": now})
