"""Proposals: a pull request and its first commit in one transaction."""

from collections.abc import Sequence

from django.db import transaction

from registry.selectors.access import Actor
from registry.selectors.repository.revision import revision_get, target_get
from registry.services.discussion.discussion import MAX_TITLE, pull_request_open
from registry.services.repository.revision import Operation, commit
from registry.tables import Discussion, MLModel, Revision
from registry.validation.texts import message_of


def propose(
    *,
    actor: Actor,
    mlmodel: MLModel,
    base: str,
    title: str,
    description: str,
    operations: Sequence[Operation],
    parent_oid: str | None = None,
) -> tuple[Discussion, Revision]:
    """Open a pull request and commit ``operations`` to it; both, or neither.

    Args:
        base: The target branch.
        parent_oid: The revision to build on; ``None`` for the head of ``base``.

    Raises:
        NotFound: ``revision_not_found`` if ``base`` is no branch.
        RegistryError: see :func:`registry.services.discussion.discussion.pull_request_open` and
            :func:`registry.services.repository.revision.commit`.
    """
    target = target_get(mlmodel, base)
    start = revision_get(mlmodel, parent_oid) if parent_oid else target.revision
    with transaction.atomic():
        pull = pull_request_open(
            actor=actor,
            mlmodel=mlmodel,
            title=title.partition("\n")[0][:MAX_TITLE],
            description=description,
            branch=f"refs/heads/{target.name}",
            start=start,
        )
        revision = commit(
            actor=actor,
            mlmodel=mlmodel,
            branch=f"refs/pr/{pull.num}",
            message=message_of(title, description),
            operations=operations,
            is_checked=False,
            again_ok=True,
        )
    return pull, revision
