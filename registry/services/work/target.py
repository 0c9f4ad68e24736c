"""Targets: registered by workers, by machines that join and by operators; enabled by operators."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max

from hpcfair.machine import EMULATED, Machine, target_of
from registry.errors import Conflict, Invalid
from registry.ids import SLUG_RE
from registry.selectors.access import Actor, require_staff
from registry.selectors.work.target import target_get, targets_served
from registry.services.audit import audit
from registry.tables import Build, Device, Revision, Target
from registry.validation.targets import check_document, check_target


def target_register(
    *,
    slug: str,
    title: str,
    architecture: str,
    features: list[str],
    rank: int,
    memory_bytes: int = 0,
    cores: int = 0,
) -> Target:
    """Register a target, or update its entry; whether it is enabled does not change.

    Workers call this at every start. Raises ``Invalid`` ``invalid_target`` if the slug is not
    lower-case words joined by hyphens.
    """
    columns = {
        "title": title,
        "architecture": architecture,
        "features": features,
        "rank": rank,
        "memory_bytes": memory_bytes,
        "cores": cores,
    }
    with transaction.atomic():
        return _store(None, _slug(slug), columns)


def target_of_facts(facts: Mapping[str, Any]) -> Target:
    """The target of a machine's processor. It is registered if the hub does not have it.

    ``facts`` are valid by :func:`registry.validation.facts.check_facts`.
    """
    definition = target_of(_machine(facts))
    existing = Target.objects.filter(slug=definition.slug).first()
    if existing is not None:
        return existing
    return target_register(
        slug=definition.slug,
        title=definition.title,
        architecture=definition.architecture,
        features=list(definition.features),
        rank=definition.rank,
    )


def target_save(*, actor: Actor, slug: str, definition: Mapping[str, Any]) -> Target:
    """Register a target by its definition, or change its entry.

    Args:
        definition: ``architecture``, and optionally ``title``, ``features``, ``rank``,
            ``memory_bytes`` and ``cores``; absent ones get their defaults.

    Raises:
        Unauthenticated, Forbidden: the actor is not an operator of the hub.
        Invalid: ``invalid_target``, with the columns in its fields.
        Conflict: ``target_in_use``: its architecture or features would change, and it has devices
            or builds.
    """
    require_staff(actor)
    columns = check_target(definition)
    with transaction.atomic():
        existing = Target.objects.select_for_update().filter(slug=_slug(slug)).first()
        if existing is not None:
            _require_unused(existing, columns)
        return _store(actor, slug, columns)


def targets_import(*, actor: Actor, document: Any) -> list[Target]:
    """Register the targets of a document, all or none.

    Args:
        document: ``{"targets": [...]}``, as ``hpcfair targets detect --json`` prints it: the
            definitions of :func:`target_save`, each with its ``slug``.

    Raises the errors of :func:`target_save`; ``Invalid`` ``invalid_target`` for another document.
    """
    require_staff(actor)
    with transaction.atomic():
        return [
            target_save(actor=actor, slug=slug, definition=definition)
            for slug, definition in check_document(document)
        ]


def target_enable(*, actor: Actor, slug: str, enabled: bool) -> Target:
    """Enable or disable a target. Jobs of a disabled target stay queued.

    Raises ``Unauthenticated`` or ``Forbidden`` if the actor is not an operator of the hub;
    ``NotFound`` ``target_not_found``.
    """
    require_staff(actor)
    target = target_get(slug)
    with transaction.atomic():
        if enabled:
            catch_up_due(target_id=target.pk)
        if Target.objects.filter(pk=target.pk).exclude(enabled=enabled).update(enabled=enabled):
            action = "target.enable" if enabled else "target.disable"
            audit(actor, action, slug)
    target.refresh_from_db(fields=["enabled"])
    return target


def catch_up_due(*, target_id: int) -> bool:
    """Store that searches may be missing on a target without an active device; call it before a
    device becomes active.

    :mod:`registry.services.work.catchup` queues them. Returns whether no device serves the target.
    """
    if targets_served().filter(pk=target_id).exists():
        return False
    Target.objects.filter(pk=target_id).update(catch_up_below=revisions_end())
    return True


def revisions_end() -> int:
    """A key larger than those of all revisions."""
    return (Revision.objects.aggregate(newest=Max("pk"))["newest"] or 0) + 1


def _machine(facts: Mapping[str, Any]) -> Machine:
    """The machine with the facts that decide which target its processor has."""
    return Machine(
        architecture=facts["architecture"],
        features=tuple(facts["features"]),
        cores=facts.get("cores", 1),
        logical_cpus=facts.get("logical_cpus", 1),
        memory_bytes=facts.get("memory_bytes"),
        processor=facts.get("processor", ""),
        os=facts.get("os", ""),
        kernel=facts.get("kernel", ""),
        is_emulated=facts.get("is_emulated", False),
    )


def _slug(slug: str) -> str:
    if not SLUG_RE.fullmatch(slug) or len(slug) > 64:
        raise Invalid(
            "invalid_target",
            f"{slug[:100]!r} is not a valid name of a target.",
            "Use at most 64 lower-case letters and digits, in words joined by hyphens.",
        )
    return slug


def _store(actor: Actor, slug: str, columns: dict[str, Any]) -> Target:
    features = sorted(set(columns["features"]))
    stored = columns | {"features": features, "is_emulated": EMULATED in features}
    before = Target.objects.filter(slug=slug).values(*stored).first()
    target, is_new = Target.objects.update_or_create(slug=slug, defaults=stored)
    # Workers repeat their registration at every start: only an operator's change is an event.
    if is_new or (actor is not None and before != stored):
        audit(actor, "target.register" if is_new else "target.change", slug, detail=stored)
    return target


def _require_unused(target: Target, columns: dict[str, Any]) -> None:
    is_same = target.architecture == columns["architecture"] and set(target.features) == set(
        columns["features"]
    )
    if is_same:
        return
    if (
        Device.objects.filter(target=target).exists()
        or Build.objects.filter(target=target).exists()
    ):
        raise Conflict(
            "target_in_use",
            f"The target {target.slug} has devices or builds, made for its architecture and "
            "features.",
            "Register another target with the new ones.",
        )
