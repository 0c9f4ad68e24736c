"""Reads of the targets that people's machines belong to."""

from registry.selectors.access import Actor, person
from registry.tables import UserTarget


def usertargets_of(actor: Actor) -> list[str]:
    """Slugs of the targets of the machines that ``actor`` loaded models on, newest load first."""
    user = person(actor)
    if user is None:
        return []
    rows = UserTarget.objects.filter(user=user).order_by("-used_at", "-pk")
    return list(rows.values_list("target__slug", flat=True))
