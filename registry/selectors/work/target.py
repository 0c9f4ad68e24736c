"""Reads of targets."""

from collections.abc import Collection

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.states import DeviceHealth
from registry.tables import Target


def target_get(slug: str) -> Target:
    """The target of that slug. Raises ``NotFound``: ``target_not_found``."""
    target = targets().filter(slug=slug).first()
    if target is None:
        raise NotFound(
            "target_not_found",
            f"There is no target {slug[:64]!r}.",
            "List the targets; a target is registered with its first device.",
        )
    return target


def targets() -> QuerySet[Target]:
    """All targets by slug."""
    return Target.objects.order_by("slug")


def targets_served() -> QuerySet[Target]:
    """Enabled targets with a device online; searches are planned for these."""
    return targets().filter(enabled=True, devices__health=DeviceHealth.ONLINE).distinct()


def target_of_machine(architecture: str, features: Collection[str]) -> Target | None:
    """The target that builds for a machine are chosen from first; ``None`` if it fits none.

    It is that of the highest rank of which the machine has all features.
    """
    rows = Target.objects.filter(architecture=architecture).order_by("-rank", "slug")
    return next((row for row in rows if set(row.features) <= set(features)), None)
