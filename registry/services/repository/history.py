"""Rows of a revision, under the id that git gives the same commit."""

import json
import re
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.access import Actor, person
from registry.selectors.repository.snapshot import Snapshot
from registry.services.repository.draft import RevisionDraft
from registry.services.repository.tree import trees_store
from registry.services.storage.blob import blobs_hold
from registry.services.storage.quota import usage_grow
from registry.storage.git import commit_oid
from registry.tables import File, MLModel, Revision, User

# Conditions that exclude the paths in one JSON array. Each database turns its own form into a hash
# table or an index; the other form is evaluated anew for each row.
_LEFT_OUT = {
    "sqlite": "f.path NOT IN (SELECT value FROM json_each(%s))",
    "postgresql": (
        "NOT EXISTS (SELECT FROM jsonb_array_elements_text(%s::jsonb) AS gone (path)"
        " WHERE gone.path = f.path)"
    ),
}
# Characters that git strips from names, and that would end the name early.
_NAME_CRUD = " .,:;<>\"\\'"


def revision_write(actor: Actor, mlmodel: MLModel, draft: RevisionDraft) -> Revision:
    """Write the revision and its files, inside the caller's transaction.

    Raises ``Conflict`` ``nothing_to_commit`` if the parent has the very same files; ``Forbidden``
    ``quota_exceeded``; ``Invalid`` ``blob_missing`` if bytes were collected since the draft was
    made.
    """
    snapshot, parent = draft.snapshot, draft.parent
    # Whole seconds: the commit object has no finer time, and the id must be recomputable.
    now = timezone.now().replace(microsecond=0)
    author = person(actor)
    author_line = _author_line(author, now)
    blobs_hold({blob.pk for blob in snapshot.new_blobs})
    if parent is not None and snapshot.tree_oid == parent.tree_oid:
        raise Conflict("nothing_to_commit", "All files are already as the commit would make them.")
    oid = commit_oid(
        tree=snapshot.tree_oid,
        parent=parent.oid if parent else None,
        author_line=author_line,
        message=draft.message,
    )
    # The same commit made twice within a second on two branches is one commit, as in git.
    revision, created = Revision.objects.get_or_create(
        mlmodel=mlmodel,
        oid=oid,
        defaults={
            "tree_oid": snapshot.tree_oid,
            "directory_oid": snapshot.directory_oid,
            "file_count": snapshot.file_count,
            "size_bytes": snapshot.size_bytes,
            "parent": parent,
            "author": author,
            "author_line": author_line,
            "message": draft.message,
            "created_at": now,
            "card": snapshot.card.values,
        },
    )
    if created:
        usage_grow(mlmodel, snapshot.new_blobs)
        trees_store(mlmodel, snapshot.trees)
        _copy_files(revision, snapshot)
        File.objects.bulk_create(
            [
                File(
                    revision=revision,
                    path=path,
                    blob=entry.blob,
                    oid=entry.oid,
                    is_lfs=entry.is_lfs,
                    changed_in=revision,
                )
                for path, entry in snapshot.put.items()
            ],
            batch_size=1000,
        )
    return revision


def _copy_files(revision: Revision, snapshot: Snapshot) -> None:
    """Copy the files that stay inside the database: there may be very many."""
    base = snapshot.base
    if base is None:
        return
    changed_in = "f.changed_in_id" if snapshot.keeps_changes else "%s"
    parameters = [revision.pk] if snapshot.keeps_changes else [revision.pk, revision.pk]
    left_out = json.dumps([*snapshot.removed, *snapshot.put])
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO registry_file (revision_id, path, blob_id, oid, is_lfs, changed_in_id)
            SELECT %s, f.path, f.blob_id, f.oid, f.is_lfs, {changed_in} FROM registry_file f
            WHERE f.revision_id = %s AND {_LEFT_OUT[connection.vendor]}
            """,  # noqa: S608 (all parts are ours)
            [*parameters, base.pk, left_out],
        )


def _author_line(author: User | None, now: datetime) -> str:
    """``Name <address> seconds zone``; the address is a placeholder, the real one is private."""
    host = urlsplit(settings.HUB_URL).hostname or "localhost"
    username = author.username if author else "hub"
    name = (author.full_name if author else "") or username
    name = re.sub(r"[<>\n]", "", name).strip(_NAME_CRUD) or username
    return f"{name} <{username}@users.noreply.{host}> {int(now.timestamp())} +0000"
