"""Webhooks below ``/api/settings/webhooks`` as in ``HfApi`` (2.4.0); deliveries are additional."""

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import signed_in
from hub.hf.errors import BadRequest
from hub.hf.shapes import moment
from hub.hf.views import json_answer, json_body, text_in
from registry.selectors.webhook.webhook import deliveries_of, webhook_get, webhooks_of
from registry.services.webhook.webhook import (
    DOMAINS,
    delivery_replay,
    webhook_create,
    webhook_delete,
    webhook_enable,
    webhook_update,
)
from registry.states import NamespaceKind
from registry.tables import User, Webhook, WebhookDelivery

_DELIVERIES_SHOWN = 100


def listing(request: HttpRequest) -> HttpResponse:
    """``GET``."""
    return json_answer([_shape(webhook) for webhook in webhooks_of(signed_in(request))])


def create(request: HttpRequest) -> HttpResponse:
    """``POST {url, watched, domains?, secret?}``."""
    actor, data = signed_in(request), json_body(request)
    _refuse_jobs(data)
    domains = _domains(data)
    webhook = webhook_create(
        actor=actor,
        url=text_in(data, "url"),
        watched=_watched(data),
        domains=DOMAINS if domains is None else domains,
        secret=text_in(data, "secret", ""),
    )
    return _answer(actor, webhook)


def details(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """``GET``."""
    actor = signed_in(request)
    return _answer(actor, webhook_get(actor, webhook_id))


def update(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """``POST`` with the members of :func:`create` that are to change."""
    actor, data = signed_in(request), json_body(request)
    _refuse_jobs(data)
    webhook = webhook_update(
        actor=actor,
        webhook=webhook_get(actor, webhook_id),
        # Clients up to 0.36 send null for what is not to change.
        url=text_in(data, "url") if data.get("url") is not None else None,
        # Clients send an empty list by default.
        watched=_watched(data) or None,
        domains=_domains(data),
        secret=text_in(data, "secret") if data.get("secret") is not None else None,
    )
    return _answer(actor, webhook)


def switch(*, enabled: bool) -> Callable[..., HttpResponse]:
    """``POST .../enable`` or ``.../disable``."""

    def view(request: HttpRequest, webhook_id: str) -> HttpResponse:
        actor = signed_in(request)
        webhook = webhook_get(actor, webhook_id)
        return _answer(actor, webhook_enable(actor=actor, webhook=webhook, enabled=enabled))

    return view


def remove(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """``DELETE``."""
    actor = signed_in(request)
    webhook_delete(actor=actor, webhook=webhook_get(actor, webhook_id))
    return json_answer({})


def deliveries(request: HttpRequest, webhook_id: str) -> HttpResponse:
    """``GET .../deliveries``: the newest, each with its payload."""
    rows = deliveries_of(webhook_get(signed_in(request), webhook_id))[:_DELIVERIES_SHOWN]
    return json_answer([_delivery(row) for row in rows])


def replay(request: HttpRequest, webhook_id: str, delivery_id: str) -> HttpResponse:
    """``POST .../deliveries/<id>/replay``."""
    actor = signed_in(request)
    webhook = webhook_get(actor, webhook_id)
    return json_answer(
        _delivery(delivery_replay(actor=actor, webhook=webhook, delivery_uuid=delivery_id))
    )


def _refuse_jobs(data: Mapping[str, Any]) -> None:
    if "jobSourceId" in data:
        raise BadRequest("This hub runs no jobs for webhooks; set a url.")


def _watched(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    watched = data.get("watched") or []
    if not isinstance(watched, list) or not all(isinstance(item, dict) for item in watched):
        raise BadRequest("'watched' must be a list of objects.")
    return watched


def _domains(data: Mapping[str, Any]) -> list[str] | None:
    domains = data.get("domains")
    if domains is None:
        return None
    if not isinstance(domains, list) or not all(isinstance(domain, str) for domain in domains):
        raise BadRequest("'domains' must be a list of words.")
    return domains


def _answer(actor: User, webhook: Webhook) -> HttpResponse:
    return json_answer({"webhook": _shape(webhook_get(actor, webhook.uuid))})


def _shape(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.uuid.hex,
        "url": webhook.url,
        "watched": _watched_items(webhook),
        "domains": webhook.domains,
        "secret": webhook.secret or None,
        "disabled": not webhook.is_enabled,
    }


def _watched_items(webhook: Webhook) -> list[dict[str, str]]:
    rows = sorted(webhook.watches.all(), key=lambda row: row.pk)
    types = {NamespaceKind.USER: "user", NamespaceKind.ORGANISATION: "org"}
    return [
        {"type": row.mlmodel.kind, "name": row.mlmodel.full_name} for row in rows if row.mlmodel
    ] + [
        {"type": types[NamespaceKind(row.namespace.kind)], "name": row.namespace.name}
        for row in rows
        if row.namespace
    ]


def _delivery(row: WebhookDelivery) -> dict[str, Any]:
    return {
        "id": row.uuid.hex,
        "state": row.state,
        "attempts": row.attempts,
        "status": row.status,
        "error": row.error,
        "createdAt": moment(row.created_at),
        "endedAt": moment(row.ended_at) if row.ended_at else None,
        "payload": row.payload,
    }
