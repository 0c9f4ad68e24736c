"""Writing a revision's rows under the id git gives the same commit."""

import re
from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.access import Actor, person
from registry.services.repository.snapshot import Entry
from registry.services.storage.quota import usage_grow
from registry.storage.git import commit_oid, tree_oid
from registry.tables import File, MLModel, Revision, User
from registry.validation.card import Card

# What git strips from names, and what would end the name early.
_NAME_CRUD = " .,:;<>\"\\'"


def revision_write(
    actor: Actor,
    mlmodel: MLModel,
    parent: Revision | None,
    message: str,
    entries: dict[str, Entry],
    card: Card,
) -> Revision:
    """Write a revision whose files are ``entries``, inside the caller's transaction.

    Raises:
        Conflict: ``nothing_to_commit`` if ``parent`` has the very same files.
        Forbidden: ``quota_exceeded``.
    """
    tree = tree_oid({path: entry.oid for path, entry in entries.items()})
    if parent is not None and tree == parent.tree_oid:
        raise Conflict("nothing_to_commit", "All files are already as the commit would make them.")
    # Whole seconds: the commit object has no finer time, and the id must be recomputable.
    now = timezone.now().replace(microsecond=0)
    author = person(actor)
    author_line = _author_line(author, now)
    oid = commit_oid(
        tree=tree, parent=parent.oid if parent else None, author_line=author_line, message=message
    )
    # The same commit made twice within a second on two branches is one commit, as in git.
    revision, created = Revision.objects.get_or_create(
        mlmodel=mlmodel,
        oid=oid,
        defaults={
            "tree_oid": tree,
            "parent": parent,
            "author": author,
            "author_line": author_line,
            "message": message,
            "created_at": now,
            "card": card.values,
        },
    )
    if created:
        usage_grow(mlmodel, [e.blob for e in entries.values() if e.changed_in is None])
        _add_files(revision, entries)
    return revision


def _add_files(revision: Revision, entries: dict[str, Entry]) -> None:
    File.objects.bulk_create(
        [
            File(
                revision=revision,
                path=path,
                blob=e.blob,
                oid=e.oid,
                is_lfs=e.is_lfs,
                changed_in_id=e.changed_in or revision.pk,
            )
            for path, e in entries.items()
        ],
        batch_size=1000,
    )


def _author_line(author: User | None, now: datetime) -> str:
    """``Name <address> seconds zone``; never the real address, which is nobody's business."""
    host = urlsplit(settings.HUB_URL).hostname or "localhost"
    username = author.username if author else "hub"
    name = (author.full_name if author else "") or username
    name = re.sub(r"[<>\n]", "", name).strip(_NAME_CRUD) or username
    return f"{name} <{username}@users.noreply.{host}> {int(now.timestamp())} +0000"
