"""Formats values of performance pages."""

from django import template
from django.http import HttpRequest

from hub.pages.performanceexport import FORMATS
from registry.kernels.reason import is_changed

register = template.Library()


@register.filter
def part_of(value: float, whole: float) -> str:
    """25 of 200 -> ``12.5 %``; "" without a whole."""
    return f"{value / whole:.1%}".replace("%", " %") if whole > 0 else ""


@register.filter
def hundredths(share: float) -> str:
    """0.1234 -> ``12.34``, for the width of a bar."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}"


@register.filter
def times_of(value: float, other: float) -> str:
    """30 and 12 -> ``2.5``."""
    return f"{value / other:.3g}" if other > 0 else ""


@register.filter
def export_title(name: str) -> str:
    """Name of an export to what a person downloads."""
    return FORMATS[name]


@register.filter
def page_address(request: HttpRequest, number: int) -> str:
    """The address of another page of the same table."""
    query = request.GET.copy()
    query["page"] = str(number)
    return f"?{query.urlencode()}"


@register.filter
def is_changed_from(executed: str, model: str) -> bool:
    """Whether a precision is not the model's."""
    return is_changed(executed, model)


@register.filter
def counted(number: int | None) -> str:
    """25557032 -> ``25,557,032``; ``varies`` if it is not constant."""
    return "varies" if number is None else f"{number:,}"
