"""Rows of a revision, under the id that git gives the same commit."""

import re
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.access import Actor, person
from registry.services.repository.draft import RevisionDraft
from registry.services.repository.file import files_write, place_next
from registry.services.repository.tree import trees_store
from registry.services.storage.blob import blobs_hold
from registry.services.storage.quota import usage_grow
from registry.storage.git import commit_oid
from registry.tables import MLModel, Revision, User

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
    # Locks the MLModel: no other commit extends the same series, or makes the same revision.
    usage_grow(mlmodel, snapshot.new_blobs)
    # The same commit made twice within a second on two branches is one commit, as in git.
    revision = Revision.objects.filter(mlmodel=mlmodel, oid=oid).first()
    if revision is not None:
        return revision
    series, position = place_next(mlmodel, snapshot)
    revision = Revision.objects.create(
        mlmodel=mlmodel,
        oid=oid,
        tree_oid=snapshot.tree_oid,
        directory_oid=snapshot.directory_oid,
        file_count=snapshot.file_count,
        size_bytes=snapshot.size_bytes,
        series=series,
        position=position,
        parent=parent,
        author=author,
        author_line=author_line,
        message=draft.message,
        created_at=now,
        card=snapshot.card.values,
    )
    trees_store(mlmodel, snapshot.trees)
    files_write(revision, snapshot)
    return revision


def _author_line(author: User | None, now: datetime) -> str:
    """``Name <address> seconds zone``; the address is a placeholder, the real one is private."""
    host = urlsplit(settings.HUB_URL).hostname or "localhost"
    username = author.username if author else "hub"
    name = (author.full_name if author else "") or username
    name = re.sub(r"[<>\n]", "", name).strip(_NAME_CRUD) or username
    return f"{name} <{username}@users.noreply.{host}> {int(now.timestamp())} +0000"
