"""The fleet: devices by target, their jobs, queue, leases, failures; codes for new devices."""

from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from hub.pages import chart
from hub.pages.addresses import newest_first
from hub.pages.views import page, signed_in
from registry.selectors.access import may_operate
from registry.selectors.people.account import user_find
from registry.selectors.work.fleet import (
    counts_by_target,
    devices_in,
    failures,
    leases,
    queue_of,
    work_of,
)
from registry.selectors.work.jobattempt import Utilisation, utilisation
from registry.selectors.work.target import target_get, targets
from registry.services.work.device import device_check
from registry.services.work.devicecode import device_code_issue
from registry.states import DeviceHealth, DeviceState
from registry.tables import Target, User

#: Seconds for which the utilisation is cached.
_UTILISATION_S = 60
#: Element of the page that htmx replaces by the chart of the utilisation.
_CHART = "fleet-utilisation"
#: Values of the filter by state: a state, or the health of an active device.
STATES = (
    *DeviceHealth.values,
    *(state for state in DeviceState.values if state != DeviceState.ACTIVE),
)


class DeviceCodeForm(forms.Form):
    """A code with which a machine joins."""

    target = forms.ChoiceField(
        required=False, help_text="By default the target of the machine's processor"
    )
    owner = forms.CharField(
        required=False,
        max_length=96,
        help_text="Who may drain and retire it beside operators; by default you",
    )

    def clean_owner(self) -> User | None:
        """The person with that name; ``None`` for an empty field."""
        name = self.cleaned_data["owner"].strip()
        owner = user_find(name) if name else None
        if name and owner is None:
            raise forms.ValidationError(f"There is no user {name!r}.")
        return owner

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["target"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [("", "any"), *((row.slug, row.slug) for row in targets())]


@page
def fleet(request: HttpRequest) -> HttpResponseBase:
    """The fleet; htmx fetches its state every few seconds, and the chart every minute."""
    slug = request.GET.get("target", "")
    target = target_get(slug) if slug else None
    htmx = request.htmx  # type: ignore[attr-defined]
    if htmx and htmx.target == _CHART:
        return render(request, "fleet/utilisation.html", {"utilisation": _chart(target)})
    context = _state(request, target)
    if htmx:
        return render(request, "fleet/live.html", context)
    form = DeviceCodeForm() if may_operate(request.user) else None
    context |= {"utilisation": _chart(target), "form": form}
    return render(request, "fleet/page.html", context)


@page
@require_POST
@never_cache
def code(request: HttpRequest) -> HttpResponseBase:
    """Issue a code with which a machine joins, and show it once."""
    form = DeviceCodeForm(request.POST)
    context: dict[str, Any] = {"section": "fleet", "form": form}
    if not form.is_valid():
        return render(request, "fleet/code.html", context, status=400)
    context["code"] = device_code_issue(
        actor=signed_in(request),
        target=form.cleaned_data["target"] or None,
        owner=form.cleaned_data["owner"],
    )
    return render(request, "fleet/code.html", context)


def _state(request: HttpRequest, target: Target | None) -> dict[str, Any]:
    """The parts of the page that are refreshed every few seconds."""
    device_check()
    filters = {name: request.GET.get(name, "")[:200] for name in ("target", "state", "name")}
    rows = devices_in(**filters)
    shown, more = newest_first(rows, request, order=("target_id", "name"))
    chosen = {name: value for name, value in filters.items() if value}
    return {
        "section": "fleet",
        "filters": filters,
        "states": STATES,
        "targets": list(targets()),
        "counts": counts_by_target([target] if target else targets()),
        "works": work_of(request.user, shown),
        "more": more,
        "queue": queue_of(request.user, target),
        "leases": leases(request.user, target),
        "failures": failures(target),
        "address": f"{reverse('fleet')}?{urlencode(chosen)}" if chosen else reverse("fleet"),
    }


def _chart(target: Target | None) -> chart.Chart | None:
    """Utilisation of the last day; computed at most once a minute."""
    key = f"fleet.utilisation.{target.pk if target else 'all'}"
    data = cache.get_or_set(key, lambda: utilisation(target=target), _UTILISATION_S)
    return chart.utilisation(cast("Utilisation", data))
