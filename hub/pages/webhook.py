"""A person's webhooks: what they watch, what was sent, and sending it anew."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from hub.pages.asker import signed_in
from hub.pages.errors import act, page
from registry.errors import RegistryError
from registry.selectors.people.account import namespace_get
from registry.selectors.webhook.webhook import deliveries_of, webhook_get, webhooks_of
from registry.services.webhook.webhook import (
    DOMAINS,
    delivery_replay,
    webhook_create,
    webhook_delete,
    webhook_switch,
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
        help_text="One a line: a person or organisation, owner/model, datasets/owner/name",
    )
    domains = forms.MultipleChoiceField(
        choices=[("repo", "changes of files, branches, tags"), ("discussion", "discussions")],
        initial=list(DOMAINS),
        widget=forms.CheckboxSelectMultiple,
        label="Which changes",
    )
    secret = forms.CharField(
        max_length=256, required=False, help_text="Sent along and used to sign, if given"
    )


@page
@require_http_methods(["GET", "POST"])
def webhooks(request: HttpRequest) -> HttpResponseBase:
    """The list with what was last sent to each; a POST makes a new one."""
    user = signed_in(request)
    form = WebhookForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            given["watched"] = _watched(user, given["watched"])
            webhook_create(actor=user, **given)
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
    """Enable or disable it."""
    enabled = request.POST.get("enabled") == "yes"
    done = "It is told of changes from now on." if enabled else "It is told of nothing any more."
    return _act(request, uuid, webhook_switch, done, enabled=enabled)


@page
@require_POST
def delete(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """Delete it."""
    return _act(request, uuid, webhook_delete, "The webhook is deleted.")


@page
@require_POST
def replay(request: HttpRequest, uuid: UUID, delivery: UUID) -> HttpResponseBase:
    """Send a message once more."""
    return _act(request, uuid, delivery_replay, "It is being sent again.", delivery_uuid=delivery)


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
    """What the lines of ``text`` name, as the protocol spells it."""
    return [_named(user, line.strip().strip("/")) for line in text.splitlines() if line.strip()]


def _named(user: User, name: str) -> dict[str, str]:
    if name.startswith("datasets/"):
        return {"type": "dataset", "name": name.removeprefix("datasets/")}
    if "/" in name:
        return {"type": "model", "name": name}
    kind = namespace_get(user, name).kind
    return {"type": "user" if kind == NamespaceKind.USER else "org", "name": name}
