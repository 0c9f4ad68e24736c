"""Holds: a new model that is to be public stays private until its first files have passed.

What fails its checks leaves no public model. Models that the Hugging Face protocol creates are not
held: they are public at once, as on that hub, and pages say why one of them cannot be run.
"""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone

from hpcfair.formats import has_network
from registry.services.audit import audit
from registry.services.fair.assessment import assess_head
from registry.services.fair.harvest import harvest_note
from registry.services.webhook.notice import notify_config
from registry.services.work.lease import held_job
from registry.states import RefKind, Visibility
from registry.tables import MLModel, OutboxEntry, Ref, Revision

#: Files that describe a model. A version with no other file has nothing to be checked yet.
_DESCRIBING = frozenset({".gitattributes", ".gitignore", "README.md", "LICENSE", "LICENSE.md"})


def hold_begin(mlmodel: MLModel) -> None:
    """Hold a private model: it becomes public once the files of its next commit have passed."""
    MLModel.objects.filter(pk=mlmodel.pk, visibility=Visibility.PRIVATE).update(is_held=True)


def hold_review(revision: Revision, paths: Collection[str]) -> None:
    """End the hold of a model whose new head has files and no network, in the caller's transaction.

    The inspection of a network decides by :func:`hold_pass`. ``revision`` has its MLModel;
    ``paths`` are its :func:`registry.selectors.repository.contents.marking_paths`.
    """
    mlmodel = revision.mlmodel
    if not mlmodel.is_held or has_network(paths):
        return
    if revision.files.exclude(path__in=_DESCRIBING).exists():
        hold_end(revision)


def hold_pass(*, job_uuid: str, fence: int) -> None:
    """End the hold of the model whose newest version a job has inspected without a fault.

    Raises ``Conflict`` ``lease_lost``.
    """
    with transaction.atomic():
        hold_end(held_job(job_uuid=job_uuid, fence=fence).revision)


def hold_end(revision: Revision) -> None:
    """Make a held model public, in the caller's transaction.

    Without effect if the model is not held, or ``revision`` is not the head of its default branch.
    """
    mlmodel = revision.mlmodel
    heads = Ref.objects.filter(kind=RefKind.BRANCH, name=mlmodel.default_branch, revision=revision)
    if not mlmodel.is_held or not heads.filter(mlmodel=mlmodel).exists():
        return
    mlmodel.visibility, mlmodel.is_held = Visibility.PUBLIC, False
    harvest_note(mlmodel)
    held = MLModel.objects.filter(pk=mlmodel.pk, is_held=True)
    if not held.update(is_held=False, visibility=Visibility.PUBLIC, updated_at=timezone.now()):
        return
    OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
    detail = {"visibility": Visibility.PUBLIC.value, "revision": revision.oid}
    namespace = mlmodel.namespace.name
    audit(None, "mlmodel.release", mlmodel.full_name, namespace=namespace, detail=detail)
    assess_head(mlmodel)
    notify_config(mlmodel)
