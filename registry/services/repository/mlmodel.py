"""Creation, change, move and deletion of models and data sets."""

from typing import TypeVar

from django.db import IntegrityError, transaction
from django.db.models import F, TextChoices
from django.utils import timezone

from registry.errors import Conflict, Invalid
from registry.selectors.access import Actor, person, require
from registry.selectors.people.account import namespace_get
from registry.selectors.repository.contents import marking_paths
from registry.selectors.repository.mlmodel import former_names
from registry.selectors.repository.revision import branch_get
from registry.selectors.repository.snapshot import snapshot_of
from registry.services.audit import audit
from registry.services.fair.assessment import assess_head
from registry.services.fair.doi import dois_due
from registry.services.fair.harvest import harvest_note
from registry.services.fair.identifier import identifiers_withdraw
from registry.services.repository.card import card_apply
from registry.services.repository.revision import commit_first
from registry.services.results.best import best_builds_update
from registry.services.storage.blob import blob_store_bytes
from registry.services.storage.quota import quota_check, quota_check_models, usage_shift
from registry.services.trust.attestation import signatures_drop
from registry.services.webhook.notice import notify_config, notify_repository
from registry.states import Gate, RepositoryKind, Role, Visibility
from registry.tables import File, FormerName, Job, MLModel, OutboxEntry
from registry.validation.attributes import DEFAULT
from registry.validation.names import check_name
from registry.validation.texts import check_lines

_MAX_REASON = 2000
_Choices = TypeVar("_Choices", bound=TextChoices)


def mlmodel_create(
    *,
    actor: Actor,
    namespace: str,
    name: str,
    visibility: Visibility | str | None = None,
    kind: RepositoryKind = RepositoryKind.MODEL,
    hold: bool = False,
) -> MLModel:
    """Create ``namespace/name`` with a first revision that has only ``.gitattributes``.

    A redirect from that name, left by an earlier move, ends.

    Args:
        visibility: ``None`` is the default of the namespace, which is public unless an organisation
            chose otherwise.
        hold: Whether a public model stays private until its first files have passed their checks;
            see :func:`registry.services.repository.hold.hold_end`.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`;
            ``quota_exceeded``.
        NotFound: ``namespace_not_found``.
        Invalid: ``invalid_name`` or ``invalid_request``.
        Conflict: ``model_exists`` or ``dataset_exists``.
    """
    owner = namespace_get(actor, namespace)
    require(actor, role=Role.WRITE, namespace=owner)
    check_name(name, what=kind.value)
    visibility = check_visibility(owner.default_visibility if visibility is None else visibility)
    is_held = hold and (kind, visibility) == (RepositoryKind.MODEL, Visibility.PUBLIC)
    visibility = Visibility.PRIVATE if is_held else visibility
    # Before the transaction, which would hold locks while waiting for the disk.
    attributes = blob_store_bytes(actor=None, data=DEFAULT)
    try:
        with transaction.atomic():
            quota_check_models(owner)
            mlmodel = MLModel.objects.create(
                kind=kind,
                namespace=owner,
                name=name,
                visibility=visibility,
                is_held=is_held,
                created_by=person(actor),
                updated_at=timezone.now(),
            )
            name_taken(mlmodel)
            commit_first(actor=actor, mlmodel=mlmodel, attributes=attributes)
            mlmodel_changed(actor, mlmodel, "mlmodel.create", {"visibility": visibility.value})
            notify_repository(mlmodel, "create")
    except IntegrityError:
        raise name_conflict(kind, f"{owner.name}/{name}") from None
    return mlmodel


def mlmodel_update(
    *,
    actor: Actor,
    mlmodel: MLModel,
    visibility: Visibility | str | None = None,
    gate: Gate | str | None = None,
    default_branch: str | None = None,
) -> MLModel:
    """Change visibility, gate or default branch; ``None`` leaves a value.

    Access requests keep their state when a gate is removed. Setting the visibility ends a hold.
    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``NotFound`` ``revision_not_found`` for a missing branch; ``Invalid`` ``invalid_request``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    detail: dict[str, str] = {}
    with transaction.atomic():
        if visibility is not None:
            mlmodel.visibility = detail["visibility"] = check_visibility(visibility).value
            mlmodel.is_held = False
        if gate is not None:
            mlmodel.gate = detail["gate"] = _member(Gate, "gate", gate).value
        if default_branch is not None:
            head = branch_get(mlmodel, default_branch)
            mlmodel.default_branch = detail["default_branch"] = head.name
            paths = marking_paths(head.revision, mlmodel.kind)
            card_apply(mlmodel, snapshot_of(head.revision), paths)
        mlmodel.updated_at = timezone.now()
        harvest_note(mlmodel)
        columns = ["visibility", "is_held", "gate", "default_branch", "updated_at"]
        mlmodel.save(update_fields=columns)
        if default_branch is not None:
            best_builds_update(mlmodel)
        if visibility is not None or gate is not None:
            dois_due(mlmodel)
        assess_head(mlmodel)
        mlmodel_changed(actor, mlmodel, "mlmodel.update", detail)
        notify_config(mlmodel)
    return mlmodel


def mlmodel_move(*, actor: Actor, mlmodel: MLModel, namespace: str, name: str) -> MLModel:
    """Change its name, its namespace, or both; the old name redirects to the new one.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`; the role
            ``write`` is needed in both namespaces; ``quota_exceeded`` for the new one.
        NotFound: ``namespace_not_found``.
        Invalid: ``invalid_name``.
        Conflict: ``model_exists`` or ``dataset_exists``, also if the name is unchanged.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    owner = namespace_get(actor, namespace)
    require(actor, role=Role.WRITE, namespace=owner)
    kind = RepositoryKind(mlmodel.kind)
    check_name(name, what=kind.value)
    conflict = name_conflict(kind, f"{owner.name}/{name}")
    try:
        with transaction.atomic():
            # The lock serializes concurrent moves.
            row = MLModel.objects.select_for_update().get(pk=mlmodel.pk)
            if (row.namespace, row.name) == (owner, name):
                raise conflict
            if row.namespace != owner:
                quota_check_models(owner)
                quota_check(owner, row.used_bytes, hold=True)
            mlmodel_changed(actor, row, "mlmodel.move", {"to": f"{owner.name}/{name}"})
            mlmodel.namespace, mlmodel.name, mlmodel.updated_at = owner, name, timezone.now()
            mlmodel.save(update_fields=["namespace", "name", "updated_at"])
            if row.namespace != owner:
                usage_shift({row.namespace_id: -row.used_bytes, owner.pk: row.used_bytes})
            _redirect(row, mlmodel)
            signatures_drop(mlmodel)
            assess_head(mlmodel)
            dois_due(mlmodel)
            notify_repository(row, "move", destination=mlmodel)
            if row.namespace != owner:
                mlmodel_changed(actor, mlmodel, "mlmodel.receive", {"from": row.full_name})
    except IntegrityError:
        raise conflict from None
    return mlmodel


def mlmodel_delete(*, actor: Actor, mlmodel: MLModel, reason: str = "") -> None:
    """Delete it with its revisions, jobs, builds and records; garbage collection deletes the bytes.

    A public repository leaves a tombstone with ``reason``, to which its identifiers resolve. Raises
    ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`; ``Invalid``
    ``invalid_request`` for the reason.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    reason = check_lines(reason, what="reason", field="reason", most=_MAX_REASON, least=0)
    with transaction.atomic():
        # Every writer below a model locks one of these: it ends before, or finds nothing after.
        list(mlmodel.refs.select_for_update().order_by("pk"))
        list(Job.objects.select_for_update().filter(revision__mlmodel=mlmodel).order_by("pk"))
        held = MLModel.objects.select_for_update().filter(pk=mlmodel.pk).first()
        mlmodel_changed(actor, mlmodel, "mlmodel.delete", {"reason": reason} if reason else {})
        notify_repository(mlmodel, "delete")
        identifiers_withdraw(mlmodel, reason=reason)
        if mlmodel.identifiers.filter(description__isnull=False).exists():
            # Its former names lead to its record.
            mlmodel.former_names.update(mlmodel=None, full_name=mlmodel.full_name)
        # One statement. The cascade would read every file into memory, to check the references to
        # its revision.
        File.objects.filter(series__mlmodel=mlmodel).delete()
        if held is not None:
            usage_shift({held.namespace_id: -held.used_bytes})
        mlmodel.delete()


def mlmodel_downloaded(*, mlmodel: MLModel) -> None:
    """Count a download. Not audited, since it changes nothing else."""
    MLModel.objects.filter(pk=mlmodel.pk).update(downloads=F("downloads") + 1)


def mlmodel_changed(actor: Actor, mlmodel: MLModel, action: str, detail: dict[str, str]) -> None:
    """Record a change for the audit log and the search index, inside its transaction."""
    OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
    audit(actor, action, mlmodel.full_name, namespace=mlmodel.namespace.name, detail=detail)


def name_conflict(kind: RepositoryKind, full_name: str) -> Conflict:
    """The error for a name in use; clients of the Hugging Face Hub recognize the sentence."""
    return Conflict(
        f"{kind.value}_exists",
        f"A {kind.value} repository called {full_name} already exists.",
        "Commit to it, or choose another name; case does not count.",
    )


def name_taken(mlmodel: MLModel) -> None:
    """End the redirects from the name of ``mlmodel``. Their rows stay, for addresses of versions,
    except for those of ``mlmodel`` itself.

    The name must be written already, so that no concurrent move can leave the same name.
    """
    rows = former_names(RepositoryKind(mlmodel.kind), mlmodel.namespace.name, mlmodel.name)
    rows.filter(mlmodel=mlmodel).delete()
    rows.filter(replaced_at=None).update(replaced_at=timezone.now())


def _redirect(before: MLModel, after: MLModel) -> None:
    """Redirect the name of ``before`` to ``after``, and end a redirect from the new name."""
    name_taken(after)
    # Names are case-insensitive: a change of case alone needs no redirect.
    if before.full_name.lower() != after.full_name.lower():
        FormerName.objects.create(
            kind=after.kind, namespace=before.namespace.name, name=before.name, mlmodel=after
        )


def check_visibility(visibility: Visibility | str) -> Visibility:
    """``visibility`` as a member. Raises ``Invalid`` ``invalid_request``."""
    return _member(Visibility, "visibility", visibility)


def _member(choices: type[_Choices], field: str, value: str) -> _Choices:
    try:
        return choices(value)
    except ValueError:
        raise Invalid(
            "invalid_request",
            f"{str(value)[:50]!r} is no {field}.",
            f"Choose one of {', '.join(choices.values)}.",
            fields={field: "unknown"},
        ) from None
