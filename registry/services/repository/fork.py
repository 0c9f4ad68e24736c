"""Forks: copies of a repository under another name, which share the stored bytes."""

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from registry.selectors.access import Actor, person, require
from registry.selectors.people.account import namespace_get
from registry.selectors.repository.contents import marking_paths
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import revision_get
from registry.selectors.storage.quota import bytes_of
from registry.services.fair.assessment import assess_head
from registry.services.fair.derivation import derivations_fork
from registry.services.fair.identifier import identifiers_mint
from registry.services.repository.mlmodel import (
    check_visibility,
    mlmodel_changed,
    name_conflict,
    name_taken,
)
from registry.services.storage.quota import quota_check, quota_check_models, usage_shift
from registry.services.webhook.notice import notify_repository
from registry.services.work.plan import plan_inspection
from registry.states import RefKind, RepositoryKind, Role, Visibility
from registry.tables import FileSeries, Label, MLModel, Ref, Revision, Tag
from registry.validation.names import check_name

#: Columns that are copied from the source.
_COPIED = (
    *("kind", "default_branch", "gate", "title", "description", "license", "task", "library"),
    "parameters",
)
_AT_ONCE = 500


def fork(
    *,
    actor: Actor,
    source: MLModel,
    namespace: str,
    name: str,
    visibility: Visibility | str | None = None,
) -> MLModel:
    """Create ``namespace/name`` with the revisions, branches and tags of ``source``.

    Revisions keep their ids. Discussions, pull requests, likes and access requests are not copied;
    builds and records of the source apply to the same graph. A gate is copied, so that a fork does
    not open it.

    ``source`` must be readable by the actor; ``visibility`` ``None`` is that of ``source``.

    Raises:
        Unauthenticated, Forbidden: ``access_gated`` for the source; see
            :func:`registry.selectors.access.require` for ``namespace``; ``quota_exceeded``.
        NotFound: ``namespace_not_found``.
        Invalid: ``invalid_name`` or ``invalid_request``.
        Conflict: ``model_exists`` or ``dataset_exists``.
    """
    require_fetch(actor, source)
    owner = namespace_get(actor, namespace)
    require(actor, role=Role.WRITE, namespace=owner)
    kind = RepositoryKind(source.kind)
    check_name(name, what=kind.value)
    visibility = check_visibility(visibility or source.visibility)
    try:
        with transaction.atomic():
            # Locked until the end: a deletion of the source locks these first.
            refs = list(source.refs.select_for_update().order_by("pk"))
            used_bytes = bytes_of(source)
            quota_check_models(owner)
            quota_check(owner, used_bytes, hold=True)
            copy = MLModel.objects.create(
                namespace=owner,
                name=name,
                visibility=visibility,
                created_by=person(actor),
                updated_at=timezone.now(),
                used_bytes=used_bytes,
                **{column: getattr(source, column) for column in _COPIED},
            )
            usage_shift({owner.pk: used_bytes})
            name_taken(copy)
            _copy_rows(source, copy, refs)
            detail = {"source": source.full_name, "source_uuid": str(source.uuid)}
            mlmodel_changed(actor, copy, "mlmodel.fork", detail)
            notify_repository(copy, "create")
            head = revision_get(copy)
            plan_inspection(actor=actor, revision=head, paths=marking_paths(head, kind))
            assess_head(copy)
    except IntegrityError:
        raise name_conflict(kind, f"{owner.name}/{name}") from None
    return copy


def _copy_rows(source: MLModel, copy: MLModel, refs: list[Ref]) -> None:
    twins = _copy_revisions(source, copy)
    _copy_files(source, copy)
    identifiers_mint(copy, list(twins.values()))
    derivations_fork(source, twins)
    Ref.objects.bulk_create(
        [
            Ref(mlmodel=copy, kind=ref.kind, name=ref.name, revision=twins[ref.revision_id])
            for ref in refs
            if ref.kind != RefKind.PULL
        ]
    )
    # Lines of pull requests: garbage collection looks whether anything leads to them.
    copy.revisions.filter(refs=None, children=None).update(is_stray=True)
    values = source.tags.values_list("value", flat=True)
    Tag.objects.bulk_create([Tag(mlmodel=copy, value=value) for value in values])
    labels = source.labels.order_by("pk").values("kind", "value")
    Label.objects.bulk_create([Label(mlmodel=copy, **label) for label in labels])


def _copy_revisions(source: MLModel, copy: MLModel) -> dict[int, Revision]:
    """Key of each revision of ``source`` to its copy."""
    # Locked too: garbage collection may delete unreachable revisions at any time.
    originals = list(source.revisions.select_for_update(no_key=True).order_by("pk"))
    columns = (
        *("oid", "tree_oid", "directory_oid", "file_count", "size_bytes", "position"),
        *("author_id", "author_line", "message", "created_at", "card"),
    )
    series = _copy_series(source, copy)
    copies = Revision.objects.bulk_create(
        [
            Revision(
                mlmodel=copy,
                series=series[row.series_id],
                **{column: getattr(row, column) for column in columns},
            )
            for row in originals
        ],
        batch_size=_AT_ONCE,
    )
    twins = {row.pk: twin for row, twin in zip(originals, copies, strict=True)}
    children = [row for row in originals if row.parent_id is not None]
    for row in children:
        twins[row.pk].parent = twins[row.parent_id or 0]
    Revision.objects.bulk_update(
        [twins[row.pk] for row in children], ["parent"], batch_size=_AT_ONCE
    )
    return twins


def _copy_series(source: MLModel, copy: MLModel) -> dict[int, FileSeries]:
    """Key of each series of ``source`` to its copy."""
    originals = list(source.file_series.order_by("pk"))
    copies = FileSeries.objects.bulk_create(
        [
            FileSeries(
                mlmodel=copy,
                length=row.length,
                row_count=row.row_count,
                fewest_files=row.fewest_files,
            )
            for row in originals
        ],
        batch_size=_AT_ONCE,
    )
    return {row.pk: twin for row, twin in zip(originals, copies, strict=True)}


def _copy_files(source: MLModel, copy: MLModel) -> None:
    """Copy the rows of all files, which may be millions, inside the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO registry_file
                (series_id, first, "end", path, blob_id, oid, is_lfs, changed_in_id)
            SELECT s.here_id, f.first, f."end", f.path, f.blob_id, f.oid, f.is_lfs, changed_here.id
            FROM (
                SELECT DISTINCT there.series_id AS there_id, here.series_id AS here_id
                FROM registry_revision there
                JOIN registry_revision here ON here.oid = there.oid AND here.mlmodel_id = %s
                WHERE there.mlmodel_id = %s
            ) s
            JOIN registry_file f ON f.series_id = s.there_id
            JOIN registry_revision changed_there ON changed_there.id = f.changed_in_id
            JOIN registry_revision changed_here
                ON changed_here.oid = changed_there.oid AND changed_here.mlmodel_id = %s
            """,
            (copy.pk, source.pk, copy.pk),
        )
