"""Targets: registered by workers, enabled and disabled by operators."""

from django.db import transaction

from registry.errors import Invalid
from registry.ids import SLUG_RE
from registry.selectors.access import Actor, require_staff
from registry.selectors.work.target import target_get
from registry.services.audit import audit
from registry.tables import Target


def target_register(
    *, slug: str, title: str, architecture: str, features: list[str], rank: int
) -> Target:
    """Register a target, or update its entry; whether it is enabled does not change.

    Workers call this at every start. Raises ``Invalid`` ``invalid_target`` if the slug is not
    lower-case words joined by hyphens.
    """
    if not SLUG_RE.fullmatch(slug) or len(slug) > 64:
        raise Invalid(
            "invalid_target",
            f"{slug[:100]!r} is not a valid name of a target.",
            "Use at most 64 lower-case letters and digits, in words joined by hyphens.",
        )
    facts = {
        "title": title,
        "architecture": architecture,
        "features": sorted(set(features)),
        "rank": rank,
    }
    with transaction.atomic():
        target, is_new = Target.objects.update_or_create(slug=slug, defaults=facts)
        if is_new:
            audit(None, "target.register", slug, detail=facts)
    return target


def target_enable(*, actor: Actor, slug: str, enabled: bool) -> Target:
    """Enable or disable a target. Jobs of a disabled target stay queued.

    Raises ``Unauthenticated`` or ``Forbidden`` if the actor is not an operator of the hub;
    ``NotFound`` ``target_not_found``.
    """
    require_staff(actor)
    target = target_get(slug)
    with transaction.atomic():
        if Target.objects.filter(pk=target.pk).exclude(enabled=enabled).update(enabled=enabled):
            action = "target.enable" if enabled else "target.disable"
            audit(actor, action, slug)
    target.refresh_from_db(fields=["enabled"])
    return target
