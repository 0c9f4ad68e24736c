"""A person's webhooks: watched items, deliveries, replay."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.views import act, page, signed_in
from registry.errors import RegistryError
from registry.selectors.people.account import namespace_get
from registry.selectors.webhook.webhook import deliveries_of, webhook_get, webhooks_of
from registry.services.webhook.webhook import (
    DOMAINS,
    delivery_replay,
    webhook_create,
    webhook_delete,
    webhook_enable,
)
from registry.states import NamespaceKind
from registry.tables import User, Webhook

_DELIVERIES = 10


class WebhookForm(forms.Form):
    """A new webhook."""

    url = forms.CharField(max_length=2000, label="Address", widget=forms.URLInput)
    watched = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3, "class": "short"}),
        label="What to watch",
        help_text="One per line: a person or organisation, owner/model, datasets/owner/name",
    )
    domains = forms.MultipleChoiceField(
        choices=[("repo", "changes of files, branches, tags"), ("discussion", "discussions")],
        initial=list(DOMAINS),
        widget=forms.CheckboxSelectMultiple,
        label="Which changes",
    )
    secret = forms.CharField(
        max_length=256, required=False, help_text="If set, it is sent along and signs the messages"
    )


@page
@require_http_methods(["GET", "POST"])
def webhooks(request: HttpRequest) -> HttpResponseBase:
    """The webhooks with their last deliveries; a POST creates one."""
    user = signed_in(request)
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        try:
            values["watched"] = _watched(user, values["watched"])
            webhook_create(actor=user, **values)
        except RegistryError as error:
            form.add_error(None, str(error))
        else:
            return redirect("webhooks")
    shown = [
        {"webhook": webhook, "deliveries": deliveries_of(webhook)[:_DELIVERIES]}
        for webhook in webhooks_of(user)
    ]
    context = {"form": form, "shown": shown, "tab": "webhooks"}
    status = 400 if form.is_bound else 200
    return render(request, "account/webhooks.html", context, status=status)


@page
@require_POST
def switch(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Enable or disable a webhook."""
    enabled = request.POST.get("enabled") == "yes"
    done = "The webhook is enabled." if enabled else "The webhook is disabled."
    return _act(request, uuid, webhook_enable, done, enabled=enabled)


@page
@require_POST
def delete(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Delete a webhook."""
    return _act(request, uuid, webhook_delete, "The webhook is deleted.")


@page
@require_POST
def replay(request: HttpRequest, uuid: UUID, delivery: UUID) -> HttpResponseBase:
    """Send a delivery again."""
    return _act(
        request, uuid, delivery_replay, "The delivery is being sent again.", delivery_uuid=delivery
    )


def _act(
    request: HttpRequest, uuid: UUID, service: Callable[..., object], done: str, **more: Any
) -> HttpResponseBase:
    user = signed_in(request)
    webhook: Webhook = webhook_get(user, uuid)
    return act(
        request,
        reverse("webhooks"),
        lambda: service(actor=user, webhook=webhook, **more),
        done=done,
    )


def _watched(user: User, text: str) -> list[dict[str, str]]:
    """The watched items in the lines of ``text``, as the protocol spells them."""
    return [
        _watched_item(user, line.strip().strip("/")) for line in text.splitlines() if line.strip()
    ]


def _watched_item(user: User, name: str) -> dict[str, str]:
    if name.startswith("datasets/"):
        return {"type": "dataset", "name": name.removeprefix("datasets/")}
    if "/" in name:
        return {"type": "model", "name": name}
    kind = namespace_get(user, name).kind
    return {"type": "user" if kind == NamespaceKind.USER else "org", "name": name}
