"""Queues webhook deliveries, in the transaction of the change that they report.

Payloads are those of the Hugging Face Hub's webhooks, version 3
(https://huggingface.co/docs/hub/webhooks), which ``huggingface_hub.WebhookPayload`` reads.
:mod:`registry.services.webhook.delivery` sends them.
"""

from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from registry.dispatch import notify_deliveries
from registry.states import Gate, RefKind, RepositoryKind, Visibility
from registry.tables import (
    Discussion,
    DiscussionEvent,
    MLModel,
    Namespace,
    Ref,
    User,
    Webhook,
    WebhookDelivery,
    WebhookWatch,
)

_REF_PREFIXES = {RefKind.BRANCH: "refs/heads/", RefKind.TAG: "refs/tags/", RefKind.PULL: "refs/pr/"}


def notify_repository(mlmodel: MLModel, action: str, *, destination: MLModel | None = None) -> None:
    """Report that a repository was created, is being deleted, or was moved.

    ``action`` is ``create``, ``delete`` or ``move``; for the last, ``mlmodel`` has the old name and
    ``destination`` the new one.
    """
    if destination is None:
        _notify(mlmodel, "repo", action)
        return
    owner = {"id": destination.namespace.uuid.hex}
    moved_to = {"name": destination.full_name, "owner": owner}
    _notify(mlmodel, "repo", action, also=destination.namespace, movedTo=moved_to)


def notify_config(mlmodel: MLModel) -> None:
    """Report changed settings of a repository."""
    config = {
        "private": mlmodel.visibility == Visibility.PRIVATE,
        "gated": False if mlmodel.gate == Gate.OPEN else mlmodel.gate,
    }
    _notify(mlmodel, "repo.config", "update", updatedConfig=config)


def notify_ref(ref: Ref, *, old: str | None, new: str | None) -> None:
    """Report that a branch, a tag or the head of a pull request changed.

    ``old`` and ``new`` are commit ids; ``None`` before creation and after deletion of ``ref``.
    """
    name = f"{_REF_PREFIXES[RefKind(ref.kind)]}{ref.name}"
    change = {"ref": name, "oldSha": old, "newSha": new}
    _notify(ref.mlmodel, "repo.content", "update", updatedRefs=[change])


def notify_discussion(discussion: Discussion, action: str) -> None:
    """Report a new discussion (``create``), or a changed title or state (``update``)."""
    _notify(discussion.mlmodel, "discussion", action, discussion=_discussion(discussion))


def notify_comment(discussion: Discussion, comment: DiscussionEvent, action: str) -> None:
    """Report a new comment (``create``), or an edited or hidden one (``update``)."""
    _notify(
        discussion.mlmodel,
        "discussion.comment",
        action,
        discussion=_discussion(discussion),
        comment=_comment(discussion, comment),
    )


def _notify(
    mlmodel: MLModel, scope: str, action: str, *, also: Namespace | None = None, **more: Any
) -> None:
    namespaces = [mlmodel.namespace] + ([also] if also is not None else [])
    watches = WebhookWatch.objects.filter(Q(mlmodel=mlmodel) | Q(namespace__in=namespaces))
    subscribed = Webhook.objects.filter(
        pk__in=watches.values("webhook"), is_enabled=True, user__is_active=True
    )
    is_private = mlmodel.visibility == Visibility.PRIVATE
    if is_private:
        subscribed = subscribed.filter(user__memberships__namespace=mlmodel.namespace)
    domain = scope.partition(".")[0]
    webhooks = [hook for hook in subscribed if domain in hook.domains]
    if not webhooks:
        return
    event = {"event": {"action": action, "scope": scope}, "repo": _repository(mlmodel), **more}
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            webhook=hook,
            mlmodel=mlmodel,
            namespace=mlmodel.namespace,
            is_private=is_private,
            payload={**event, "webhook": {"id": hook.uuid.hex, "version": 3}},
            not_before=timezone.now(),
        )
        for hook in webhooks
    )
    notify_deliveries()


def _repository(mlmodel: MLModel) -> dict[str, Any]:
    heads = mlmodel.refs.filter(kind=RefKind.BRANCH, name=mlmodel.default_branch)
    head = heads.values_list("revision__oid", flat=True).first()
    return {
        "type": mlmodel.kind,
        "name": mlmodel.full_name,
        "id": mlmodel.uuid.hex,
        "private": mlmodel.visibility == Visibility.PRIVATE,
        "url": _urls(mlmodel),
        "owner": {"id": mlmodel.namespace.uuid.hex},
        **({"headSha": head} if head else {}),
    }


def _urls(mlmodel: MLModel, below: str = "") -> dict[str, str]:
    prefix = "datasets/" if mlmodel.kind == RepositoryKind.DATASET else ""
    name = f"{mlmodel.full_name}{below}"
    return {
        "web": f"{settings.HUB_URL}/{prefix}{name}",
        "api": f"{settings.HUB_URL}/api/{mlmodel.kind}s/{name}",
    }


def _discussion(discussion: Discussion) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "id": discussion.uuid.hex,
        "num": discussion.num,
        "title": discussion.title,
        "status": discussion.state,
        "isPullRequest": discussion.is_pull_request,
        "url": _urls(discussion.mlmodel, f"/discussions/{discussion.num}"),
        "author": _author(discussion.author),
    }
    if discussion.is_pull_request:
        shape["changes"] = {"base": f"refs/heads/{discussion.target_branch}"}
        if discussion.merged_as is not None:
            shape["changes"]["mergeCommitId"] = discussion.merged_as.oid
    return shape


def _comment(discussion: Discussion, comment: DiscussionEvent) -> dict[str, Any]:
    page = _urls(discussion.mlmodel, f"/discussions/{discussion.num}")["web"]
    shape: dict[str, Any] = {
        "id": comment.uuid.hex,
        "author": _author(comment.author),
        "hidden": comment.hidden_at is not None,
        "url": {"web": f"{page}#{comment.uuid.hex}"},
    }
    if comment.hidden_at is None:
        shape["content"] = comment.text
    return shape


def _author(author: User | None) -> dict[str, str]:
    # Clients require an id; the hub itself and deleted users have none.
    return {"id": author.uuid.hex if author else "0" * 32}
