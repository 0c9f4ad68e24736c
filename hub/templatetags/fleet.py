"""Devices and attempts in templates."""

from uuid import UUID

from django import template
from django.urls import reverse
from django.utils import timezone

from registry.selectors.work.fleet import state_of
from registry.tables import JobAttempt

register = template.Library()

register.simple_tag(state_of, name="device_state")


@register.simple_tag
def device_address(action: str, uuid: UUID) -> str:
    """The address of an action on a device."""
    return reverse(f"device-{action}", args=[uuid])


@register.filter
def duration(attempt: JobAttempt) -> str:
    """Duration of an attempt, until now if it still runs."""
    return seconds(((attempt.ended_at or timezone.now()) - attempt.started_at).total_seconds())


@register.filter
def seconds(value: float) -> str:
    """``4.2 s``, ``12 min``, ``3.4 h``."""
    if value < 100:
        return f"{value:.2g} s"
    if value < 100 * 60:
        return f"{value / 60:.0f} min"
    return f"{value / 3600:.3g} h"
