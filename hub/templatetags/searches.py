"""Formats figures of searches for people."""

from typing import Any

from django import template

from hub.pages.chart.progress import duration_label
from hub.templatetags.figures import latency

register = template.Library()


@register.filter
def seconds(value: float | None) -> str:
    """Seconds of a call -> ``117 µs``."""
    return "" if value is None else latency(1e9 * value)


@register.filter
def duration(value: float | None) -> str:
    """Seconds of work -> ``5 min``."""
    return "" if value is None else duration_label(float(f"{value:.3g}"))


@register.simple_tag
def times_faster(before: float | None, after: float | None) -> str:
    """``1.92 times as fast``; slower things are said to be so."""
    if not before or not after:
        return "not comparable"
    ratio = before / after
    return f"{ratio:.3g} times as fast" if ratio >= 1 else f"{1 / ratio:.3g} times as slow"


@register.simple_tag(takes_context=True)
def with_query(context: dict[str, Any], **changes: str) -> str:
    """The query of the page's address with changed parameters, without ``?``."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query[name] = value
    return str(query.urlencode())


@register.filter
def unlocalized(value: float) -> str:
    """A number for an attribute of SVG."""
    return f"{value:g}"
