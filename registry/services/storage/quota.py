"""Storage use of repositories, and quotas of namespaces and people."""

from collections.abc import Iterable, Mapping
from math import ceil

from django.db import transaction
from django.db.models import F

from registry.errors import Forbidden, NotFound
from registry.selectors.access import Actor, person, require_staff
from registry.selectors.storage.quota import (
    Allowance,
    Usage,
    bytes_added,
    bytes_in,
    bytes_of,
    jobs_allowed,
    models_allowed,
    quota_of,
    run_mib_allowed,
    run_seconds_allowed,
    uploads_allowed,
    usage,
)
from registry.services.audit import audit
from registry.states import NamespaceKind
from registry.tables import Blob, MLModel, Namespace, User

#: Value of ``Namespace.quota_bytes`` for unlimited storage, whatever the hub's default.
UNLIMITED = -1


def quota_check(namespace: Namespace, added_bytes: int, *, hold: bool = False) -> None:
    """Refuse bytes that exceed the quota of ``namespace``.

    Call it early, where sizes are announced, to spare a vain upload; the commit checks again
    (:func:`usage_grow`). Raises ``Forbidden`` ``quota_exceeded``.

    Args:
        hold: Lock the namespace until the transaction ends, against concurrent commits.
    """
    if added_bytes <= 0 or quota_of(namespace) is None:
        return
    if hold:
        held = Namespace.objects.select_for_update().get(pk=namespace.pk)
        now = Usage(held.used_bytes, quota_of(held))
    else:
        now = usage(namespace)
    if now.free_bytes is not None and added_bytes > now.free_bytes:
        raise Forbidden(
            "quota_exceeded",
            f"{namespace.name} uses {now.used_bytes} of its {now.quota_bytes} bytes; "
            f"{added_bytes} more do not fit.",
            "Delete what is no longer needed (old revisions count too), or ask the hub's "
            f"operator for more room (`manage.py quota {namespace.name} --set SIZE`).",
        )


def quota_check_blobs(mlmodel: MLModel, blobs: dict[str, int], *, hold: bool = False) -> int:
    """Check the quota for blobs that ``mlmodel`` would reference; returns the bytes that they add.

    ``blobs`` maps digests to lengths in bytes; for the rest see :func:`quota_check`.
    """
    added_bytes = bytes_added(mlmodel, blobs)
    quota_check(mlmodel.namespace, added_bytes, hold=hold)
    return added_bytes


def usage_grow(mlmodel: MLModel, blobs: Iterable[Blob]) -> None:
    """Count blobs that a new revision or an imported profile of ``mlmodel`` references.

    Called inside the transaction that writes it, before its rows are written. Raises ``Forbidden``
    ``quota_exceeded``.
    """
    # Locked until the transaction ends: of two commits with the same bytes, only one adds them.
    rows = MLModel.objects.filter(pk=mlmodel.pk)
    used_bytes = rows.select_for_update().values_list("used_bytes", flat=True).get()
    # The quota is held: two commits to different MLModels must not both take the last bytes.
    sizes = {blob.sha256: blob.size_bytes for blob in blobs}
    added_bytes = quota_check_blobs(mlmodel, sizes, hold=True)
    if added_bytes:
        rows.update(used_bytes=F("used_bytes") + added_bytes)
        mlmodel.used_bytes = used_bytes + added_bytes
        usage_shift({mlmodel.namespace_id: added_bytes})


def usage_recount(mlmodel: MLModel) -> int:
    """Recount the bytes of ``mlmodel`` after revisions were deleted; the difference in bytes."""
    with transaction.atomic():
        held = MLModel.objects.select_for_update().filter(pk=mlmodel.pk).first()
        if held is None:
            return 0
        used_bytes = bytes_of(held)
        if used_bytes != held.used_bytes:
            MLModel.objects.filter(pk=held.pk).update(used_bytes=used_bytes)
            usage_shift({held.namespace_id: used_bytes - held.used_bytes})
    return used_bytes - held.used_bytes


def usage_shift(changes: Mapping[int, int]) -> None:
    """Add to the used bytes of namespaces (key to difference), in the transaction that changes the
    bytes of their models and data sets."""
    # In one order, so that transactions that change several do not wait for each other.
    for namespace, difference in sorted(changes.items()):
        rows = Namespace.objects.filter(pk=namespace)
        rows.update(used_bytes=F("used_bytes") + difference)


def usage_sum(namespace: Namespace) -> int:
    """Sum up the bytes of ``namespace`` anew; the difference in bytes."""
    with transaction.atomic():
        held = Namespace.objects.select_for_update().get(pk=namespace.pk)
        used_bytes = bytes_in(held)
        if used_bytes != held.used_bytes:
            Namespace.objects.filter(pk=held.pk).update(used_bytes=used_bytes)
    return used_bytes - held.used_bytes


def quota_check_models(namespace: Namespace) -> None:
    """Refuse one more model or data set beyond the quota.

    Called in the transaction that adds it. Raises ``Forbidden`` ``quota_exceeded``; ``NotFound``
    ``namespace_not_found``.
    """
    # Locked until the transaction ends, against concurrent additions.
    held = Namespace.objects.select_for_update().filter(pk=namespace.pk).first()
    if held is None:
        raise NotFound("namespace_not_found", f"{namespace.name} was deleted meanwhile.")
    _check(namespace.name, models_allowed(held), 1, "Delete what is no longer needed")


def quota_check_jobs(actor: Actor, added: int) -> None:
    """Refuse ``added`` jobs that a person requests beyond the quota; see `quota_check_models`."""
    user = person(actor)
    if user is not None:
        _check(user.username, jobs_allowed(user), added, "Wait until some have ended, cancel some")


def quota_check_run(user: User, *, added_bytes: int, limit_s: float = 0.0) -> None:
    """Refuse the bytes and the seconds of a person's run beyond the quotas; `quota_check_models`.

    Called in the transaction that adds them.
    """
    # Locked until the transaction ends, against concurrent additions.
    list(Namespace.objects.select_for_update().filter(kind=NamespaceKind.USER, name=user.username))
    added_mib = -(-added_bytes // 2**20)
    hint = "Delete runs that are no longer needed"
    _check(user.username, run_mib_allowed(user), added_mib, hint)
    if limit_s:
        _check(user.username, run_seconds_allowed(user), ceil(limit_s), "Wait a day")


def quota_check_uploads(actor: Actor) -> None:
    """Refuse one more incomplete upload of a person; see `quota_check_models`."""
    user = person(actor)
    if user is not None:
        hint = "Complete some, or wait a day until abandoned ones are deleted"
        _check(user.username, uploads_allowed(user), 1, hint)


def _check(name: str, now: Allowance, added: int, hint: str) -> None:
    if now.limit is not None and now.used + added > now.limit:
        raise Forbidden(
            "quota_exceeded",
            f"{name} has {now.used} of at most {now.limit} {now.about}; "
            f"{added} more would exceed the quota.",
            f"{hint}, or ask the hub's operator for more "
            f"(`manage.py quota {name} --{now.what.replace('_', '-')} NUMBER`).",
        )


def quota_set(*, actor: Actor, namespace: Namespace, **limits: int | None) -> Namespace:
    """Set quotas of ``namespace``. What is in use stays, whatever the quota.

    ``limits`` maps columns (``quota_bytes``, ``quota_models`` and so on) to values: ``None`` is the
    hub's default, :data:`UNLIMITED` no limit. Raises ``Unauthenticated`` or ``Forbidden`` unless
    the actor is staff of the hub.
    """
    require_staff(actor)
    with transaction.atomic():
        for column, value in limits.items():
            setattr(namespace, column, value)
        namespace.save(update_fields=list(limits))
        audit(
            actor,
            "quota.set",
            namespace.name,
            namespace=namespace.name,
            detail=limits,
        )
    return namespace
