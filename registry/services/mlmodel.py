"""Making, changing and deleting MLModels."""

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from registry.errors import Conflict, Invalid
from registry.selectors.access import Actor, person, require
from registry.selectors.account import namespace_get
from registry.selectors.revision import branch_get
from registry.services.audit import audit
from registry.services.blob import blob_store_bytes
from registry.services.card import card_of, describe
from registry.services.revision import commit_first
from registry.services.snapshot import entries_of
from registry.states import RepositoryKind, Role, Visibility
from registry.tables import Job, MLModel, OutboxEntry
from registry.validation.attributes import DEFAULT
from registry.validation.names import check_name


def mlmodel_create(
    *,
    actor: Actor,
    namespace: str,
    name: str,
    visibility: Visibility | str = Visibility.PUBLIC,
    kind: RepositoryKind = RepositoryKind.MODEL,
) -> MLModel:
    """Make ``namespace/name`` with a first revision that holds only ``.gitattributes``.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``namespace_not_found``.
        Invalid: ``invalid_name`` or ``invalid_request``.
        Conflict: ``model_exists`` or ``dataset_exists``.
    """
    owner = namespace_get(actor, namespace)
    require(actor, role=Role.WRITE, namespace=owner)
    check_name(name, what=kind.value)
    visibility = _check_visibility(visibility)
    # Before the transaction: it waits for the disk, and nobody should wait for it.
    attributes = blob_store_bytes(actor=None, data=DEFAULT)
    try:
        with transaction.atomic():
            mlmodel = MLModel.objects.create(
                kind=kind,
                namespace=owner,
                name=name,
                visibility=visibility,
                created_by=person(actor),
                updated_at=timezone.now(),
            )
            commit_first(actor=actor, mlmodel=mlmodel, attributes=attributes)
            _changed(actor, mlmodel, "mlmodel.create", {"visibility": visibility.value})
    except IntegrityError:
        raise Conflict(
            f"{kind.value}_exists",
            f"{owner.name}/{name} exists already.",
            "Commit to it, or choose another name; case does not count.",
        ) from None
    return mlmodel


def mlmodel_update(
    *,
    actor: Actor,
    mlmodel: MLModel,
    visibility: Visibility | str | None = None,
    default_branch: str | None = None,
) -> MLModel:
    """Change who may read it, or which branch it is shown by.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        NotFound: ``revision_not_found`` for a branch that is not there.
        Invalid: ``invalid_request``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    detail: dict[str, str] = {}
    with transaction.atomic():
        if visibility is not None:
            mlmodel.visibility = detail["visibility"] = _check_visibility(visibility).value
        if default_branch is not None:
            head = branch_get(mlmodel, default_branch)
            mlmodel.default_branch = detail["default_branch"] = head.name
            describe(mlmodel, card_of(entries_of(head.revision)))
        mlmodel.updated_at = timezone.now()
        mlmodel.save(update_fields=["visibility", "default_branch", "updated_at"])
        _changed(actor, mlmodel, "mlmodel.update", detail)
    return mlmodel


def mlmodel_delete(*, actor: Actor, mlmodel: MLModel) -> None:
    """Delete it with its revisions, jobs, builds and records; bytes are swept up later.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    with transaction.atomic():
        # What adds rows below a model holds one of these: it ends before, or finds nothing after.
        list(mlmodel.refs.select_for_update().order_by("pk"))
        list(Job.objects.select_for_update().filter(revision__mlmodel=mlmodel).order_by("pk"))
        _changed(actor, mlmodel, "mlmodel.delete", {})
        mlmodel.delete()


def mlmodel_downloaded(*, mlmodel: MLModel) -> None:
    """Count a download. Not audited: nobody changed anything."""
    MLModel.objects.filter(pk=mlmodel.pk).update(downloads=F("downloads") + 1)


def _changed(actor: Actor, mlmodel: MLModel, action: str, detail: dict[str, str]) -> None:
    OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
    audit(
        actor=actor,
        action=action,
        subject=mlmodel.full_name,
        namespace=mlmodel.namespace.name,
        detail=detail,
    )


def _check_visibility(visibility: Visibility | str) -> Visibility:
    try:
        return Visibility(visibility)
    except ValueError:
        raise Invalid(
            "invalid_request",
            f"{str(visibility)[:50]!r} is no visibility.",
            f"Choose one of {', '.join(Visibility.values)}.",
            fields={"visibility": "unknown"},
        ) from None
