"""Answers to the questions about a model or a data set, written into its README.md."""

import io

from registry.errors import Conflict
from registry.fair.card.answers import Answers, applied
from registry.selectors.access import Actor, require
from registry.selectors.repository.answers import kind_of, readme_at
from registry.selectors.repository.revision import branch_get
from registry.selectors.repository.snapshot import README
from registry.services.repository.revision import Add, commit
from registry.services.storage.blob import blob_store
from registry.states import Role
from registry.tables import MLModel, Revision

_MESSAGES = {"model": "Describe the model", "dataset": "Describe the data set"}


def answers_write(
    *, actor: Actor, mlmodel: MLModel, answers: Answers, readme_oid: str | None = None
) -> Revision:
    """Commit a README.md with these answers to the default branch.

    Nothing is written if the README.md no longer has the git object id ``readme_oid`` ("" if there
    was none); ``None`` stands for any. Raises ``Unauthenticated`` or ``Forbidden`` as
    :func:`registry.selectors.access.require`; ``Conflict`` ``stale_parent``, ``nothing_to_commit``;
    ``Invalid`` ``invalid_card``, ``license_missing``, ``license_unknown``.
    """
    require(actor, role=Role.WRITE, namespace=mlmodel.namespace)
    head = branch_get(mlmodel, mlmodel.default_branch).revision
    readme, oid = readme_at(head)
    if readme_oid not in {None, oid}:
        raise Conflict(
            "stale_parent",
            "README.md has changed since the questions were asked.",
            "Look at what it says now. Your answers are still here; save them if they are right.",
        )
    kind = kind_of(mlmodel)
    edited = applied(readme, answers, kind, name=mlmodel.name)
    blob = blob_store(actor=actor, stream=io.BytesIO(edited.encode()))
    return commit(
        actor=actor,
        mlmodel=mlmodel,
        branch=mlmodel.default_branch,
        message=_MESSAGES[kind],
        operations=[Add(README, blob.sha256)],
        parent_oid=head.oid,
    )
