"""Branches and tags: creation and deletion."""

from django.db import IntegrityError, transaction

from registry.errors import Conflict, Forbidden, NotFound
from registry.selectors.access import Actor, require
from registry.services.audit import audit
from registry.services.fair.assessment import assess_mark
from registry.services.webhook.notice import notify_ref
from registry.states import RefKind, Role
from registry.tables import MLModel, Ref, Revision
from registry.validation.names import check_ref


def ref_create(
    *, actor: Actor, mlmodel: MLModel, kind: RefKind, name: str, revision: Revision
) -> Ref:
    """Create a branch or a tag at ``revision``.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``revision_not_found`` for a revision of another repository.
        Invalid: ``invalid_ref``.
        Conflict: ``ref_exists``, also if git could not store both names (``a`` and ``a/b``).
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    check_ref(name)
    if revision.mlmodel_id != mlmodel.pk:
        raise NotFound("revision_not_found", "That revision belongs to another model.")
    exists = Conflict(
        "ref_exists",
        f"{mlmodel.full_name} has a {kind.value} {name!r} already.",
        "Choose another name, or delete the old one first.",
    )
    parts = name.split("/")
    above = ["/".join(parts[:length]) for length in range(1, len(parts))]
    same_kind = mlmodel.refs.filter(kind=kind)
    if same_kind.filter(name__in=above) or same_kind.filter(name__startswith=f"{name}/"):
        raise exists
    try:
        with transaction.atomic():
            ref = Ref.objects.create(mlmodel=mlmodel, kind=kind, name=name, revision=revision)
            assess_mark(revision)
            _audit_ref(actor, ref, "ref.create")
            notify_ref(ref, old=None, new=revision.oid)
    except IntegrityError:
        raise exists from None
    return ref


def ref_delete(*, actor: Actor, mlmodel: MLModel, kind: RefKind, name: str) -> None:
    """Delete a branch or a tag; its revisions stay.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``permission_denied`` also for the default branch. Raises ``NotFound`` ``revision_not_found``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    if kind == RefKind.BRANCH and name == mlmodel.default_branch:
        raise Forbidden(
            "permission_denied",
            f"{name!r} is the default branch of {mlmodel.full_name}.",
            "Make another branch the default first.",
        )
    with transaction.atomic():
        rows = (
            mlmodel.refs.filter(kind=kind, name=name) if name.isprintable() else Ref.objects.none()
        )
        ref = rows.select_related("revision").first()
        if ref is None:
            raise NotFound(
                "revision_not_found", f"{mlmodel.full_name} has no {kind.value} {name[:100]!r}."
            )
        _audit_ref(actor, ref, "ref.delete")
        notify_ref(ref, old=ref.revision.oid, new=None)
        ref.delete()
        # Garbage collection looks whether anything else leads to it.
        Revision.objects.filter(pk=ref.revision_id).update(is_stray=True)


def _audit_ref(actor: Actor, ref: Ref, action: str) -> None:
    audit(
        actor,
        action,
        f"{ref.mlmodel.full_name}#{ref.kind}/{ref.name}",
        namespace=ref.mlmodel.namespace.name,
        detail={"revision": ref.revision.oid},
    )
