"""Removal of large files from a repository (its branches or its history), and their copies.

Removal from the branches adds a revision to each branch; the history stays.

Removal from the history replaces the revisions that held the files, as ``git filter-repo`` does:
a revision's id stands for its files, so the old ids become unknown. It is refused if a benchmark
record, a build, a worker or a DOI relies on one of them. No identifier ever leads to other files
than those it was minted for: those of the old revisions lead to tombstones, and the new revisions
get their own.

A rewritten revision keeps its row, so that related rows stay attached. Branches and tags get new
rows: a commit that was prepared from a branch's old head does not find the row it read, and is
refused as stale.
"""

from collections.abc import Collection

from django.db import transaction
from django.db.models import Exists, OuterRef

from registry.errors import Conflict, Invalid, NotFound
from registry.ids import SHA256_RE
from registry.selectors.access import Actor, readable_repositories, require
from registry.selectors.repository.contents import marking_paths
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.snapshot import README, snapshot_of
from registry.selectors.storage.lfsfile import blobs_held
from registry.services.audit import audit
from registry.services.fair.identifier import identifiers_mint, identifiers_retire
from registry.services.repository.card import card_apply
from registry.services.repository.revision import Delete, commit
from registry.services.repository.tree import trees_prune
from registry.services.storage.blob import blob_used
from registry.services.storage.quota import usage_recount
from registry.services.storage.xorb import require_contributor
from registry.services.trust.attestation import signatures_drop
from registry.services.webhook.notice import notify_ref
from registry.services.work.plan import plan_inspection
from registry.states import JobState, RefKind, Role
from registry.storage.git import commit_oid, tree_oid
from registry.tables import (
    Build,
    File,
    Graph,
    Job,
    MLModel,
    OutboxEntry,
    Record,
    Ref,
    Revision,
    Upload,
)

_AT_ONCE = 500
#: Columns of revisions that a removal of files from the history changes.
_REWRITTEN = ["oid", "tree_oid", "directory_oid", "file_count", "size_bytes", "card"]
#: Reason in the tombstone of a rewritten version.
_ERASED = "Large files were erased from its history."


def lfsfiles_remove(*, actor: Actor, mlmodel: MLModel, sha256s: Collection[str]) -> None:
    """Delete large files from the head of every branch; the history keeps them.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Invalid`` ``invalid_request`` for an invalid digest.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    _check(sha256s)
    for head in mlmodel.refs.filter(kind=RefKind.BRANCH).order_by("pk"):
        held = head.revision.files.filter(is_lfs=True, blob__in=sha256s).order_by("path")
        paths = list(held.values_list("path", flat=True))
        if paths:
            commit(
                actor=actor,
                mlmodel=mlmodel,
                branch=head.name,
                message=f"Delete {len(paths)} large files",
                operations=[Delete(path) for path in paths],
                is_checked=False,
            )


def lfsfiles_erase(*, actor: Actor, mlmodel: MLModel, sha256s: Collection[str]) -> None:
    """Rewrite all revisions of ``mlmodel`` as if the large files had never been committed.

    The next garbage collection deletes the bytes, unless other repositories hold them. Raises
    ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`; ``Invalid``
    ``invalid_request`` for an invalid digest; ``Conflict`` ``record_exists`` if a record, a build
    or a worker relies on a revision that would change, ``doi_exists`` if such a revision has a DOI,
    ``stale_parent`` after a concurrent commit.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    _check(sha256s)
    doomed = File.objects.filter(series__mlmodel=mlmodel, is_lfs=True, blob__in=sha256s)
    before = _ids(mlmodel)
    changed = _rewritten(mlmodel, sha256s)
    if not changed:
        return
    with transaction.atomic():
        refs = list(mlmodel.refs.select_for_update().select_related("revision").order_by("pk"))
        if _ids(mlmodel) != before:
            raise Conflict(
                "stale_parent", f"{mlmodel.full_name} has changed meanwhile.", "Try again."
            )
        _check_unused(changed)
        identifiers_retire(mlmodel, changed, reason=_ERASED)
        # A row counts for each revision that has it.
        erased = File.objects.of(mlmodel.revisions.all()).filter(pk__in=doomed).count()
        doomed.delete()
        Revision.objects.bulk_update(changed, _REWRITTEN, batch_size=_AT_ONCE)
        identifiers_mint(mlmodel, changed)
        there = File.objects.at_outer("revision").filter(path=OuterRef("path"))
        Graph.objects.filter(~Exists(there), revision__in=[row.pk for row in changed]).delete()
        _rename(actor, mlmodel, refs, {row.pk: row for row in changed})
        signatures_drop(mlmodel)
        usage_recount(mlmodel)
        trees_prune(mlmodel)
        OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
        audit(
            actor,
            "lfsfile.erase",
            mlmodel.full_name,
            namespace=mlmodel.namespace.name,
            detail={"digests": sorted(sha256s), "files": erased, "revisions": len(changed)},
        )


def lfsfiles_lend(
    *, actor: Actor, source: MLModel, target: MLModel, sha256s: Collection[str]
) -> set[str]:
    """Let a commit of ``actor`` to ``target`` name large files of ``source``.

    The files are marked as used, and the actor as somebody who may name them. Returns the digests
    that some revision of ``source`` holds.

    Raises:
        Unauthenticated, Forbidden, NotFound: see
            :func:`registry.services.storage.xorb.require_contributor`, for ``target``.
        Forbidden: ``access_gated`` if the actor may not fetch files of ``source``.
        NotFound: ``model_not_found`` if they may not read it.
    """
    user = require_contributor(actor, target)
    if not readable_repositories(actor).filter(pk=source.pk).exists():
        raise NotFound("model_not_found", "There is no such model, or you may not read it.")
    require_fetch(actor, source)
    held = set(blob_used(actor=actor, sha256s=list(blobs_held(source, list(sha256s)))))
    if user is not None:
        uploads = [Upload(user=user, blob_id=sha256) for sha256 in sorted(held)]
        Upload.objects.bulk_create(uploads, ignore_conflicts=True)
    audit(
        actor,
        "lfsfile.lend",
        source.full_name,
        namespace=source.namespace.name,
        detail={"target": target.full_name, "files": len(held)},
    )
    return held


def _rewritten(mlmodel: MLModel, sha256s: Collection[str]) -> list[Revision]:
    """The revisions that held any of these large files, and their descendants, with their new ids.

    Not stored yet. A revision that only added such a file stays, as one without changes.
    """
    paths: dict[int, set[str]] = {}
    doomed = File.objects.of(mlmodel.revisions.all()).filter(is_lfs=True, blob__in=sha256s)
    for key, path in doomed.values_list("series__revisions", "path").iterator():
        paths.setdefault(key, set()).add(path)
    changed: dict[int, Revision] = {}
    # A parent is older than its children, and has the lower key.
    for row in mlmodel.revisions.select_related("parent").order_by("pk"):
        gone = paths.get(row.pk, set())
        parent = changed.get(row.parent_id or 0, row.parent)
        if not gone and parent is row.parent:
            continue
        if gone:
            files = row.files.exclude(path__in=gone).select_related("blob")
            left = {file.path: file for file in files.iterator()}
            row.tree_oid = tree_oid({path: file.oid for path, file in left.items()})
            row.directory_oid = tree_oid({path: file.blob.git_oid for path, file in left.items()})
            row.file_count = len(left)
            row.size_bytes = sum(file.blob.size_bytes for file in left.values())
        if README in gone:
            row.card = {}
        row.oid = commit_oid(
            tree=row.tree_oid,
            parent=parent.oid if parent else None,
            author_line=row.author_line,
            message=row.message,
        )
        changed[row.pk] = row
    return list(changed.values())


def _rename(actor: Actor, mlmodel: MLModel, refs: list[Ref], changed: dict[int, Revision]) -> None:
    """Replace the rows of all branches and tags, and notify of those with another commit id."""
    Ref.objects.filter(pk__in=[ref.pk for ref in refs]).delete()
    Ref.objects.bulk_create(
        [
            Ref(mlmodel=mlmodel, kind=ref.kind, name=ref.name, revision_id=ref.revision_id)
            for ref in refs
        ]
    )
    for ref in refs:
        new = changed.get(ref.revision_id)
        if new is None:
            continue
        notify_ref(ref, old=ref.revision.oid, new=new.oid)
        if ref.kind != RefKind.BRANCH:
            continue
        paths = marking_paths(new, mlmodel.kind)
        if ref.name == mlmodel.default_branch:
            card_apply(mlmodel, snapshot_of(new), paths)
        plan_inspection(actor=actor, revision=new, paths=paths)


def _check_unused(changed: list[Revision]) -> None:
    for start in range(0, len(changed), _AT_ONCE):
        keys = [row.pk for row in changed[start : start + _AT_ONCE]]
        if (
            Record.objects.filter(revision__in=keys).exists()
            or Build.objects.filter(graph__revision__in=keys).exists()
            or Job.objects.filter(revision__in=keys, state=JobState.LEASED).exists()
        ):
            raise Conflict(
                "record_exists",
                "Benchmark records, builds or a running job rely on revisions with these files.",
                "Delete the files without rewriting history, or delete the whole repository.",
            )


def _ids(mlmodel: MLModel) -> list[tuple[int, str]]:
    return list(mlmodel.revisions.order_by("pk").values_list("pk", "oid"))


def _check(sha256s: Collection[str]) -> None:
    for sha256 in sha256s:
        if not SHA256_RE.fullmatch(sha256):
            raise Invalid("invalid_request", f"{sha256[:100]!r} is no SHA-256.")
