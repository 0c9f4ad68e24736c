"""Reads of targets."""

from collections.abc import Collection

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.states import DeviceHealth, DeviceState
from registry.tables import Target


def target_get(slug: str) -> Target:
    """The target of that slug. Raises ``NotFound``: ``target_not_found``."""
    target = targets().filter(slug=slug).first()
    if target is None:
        raise NotFound(
            "target_not_found",
            f"There is no target {slug[:64]!r}.",
            "List the targets; a target is registered with its first device, or by an operator.",
        )
    return target


def targets() -> QuerySet[Target]:
    """All targets by slug."""
    return Target.objects.order_by("slug")


def emulated_targets() -> list[int]:
    """Keys of the targets of emulated machines."""
    return list(Target.objects.filter(is_emulated=True).values_list("pk", flat=True))


def targets_served() -> QuerySet[Target]:
    """Enabled targets with an active device online; searches are planned for these."""
    online = {"devices__health": DeviceHealth.ONLINE, "devices__state": DeviceState.ACTIVE}
    return targets().filter(enabled=True, **online).distinct()


def target_of_machine(architecture: str, features: Collection[str]) -> Target | None:
    """The target that builds for a machine are chosen from first; ``None`` if it fits none.

    It is that of the highest rank of which the machine has all features.
    """
    rows = Target.objects.filter(architecture=architecture).order_by("-rank", "slug")
    return next((row for row in rows if set(row.features) <= set(features)), None)
