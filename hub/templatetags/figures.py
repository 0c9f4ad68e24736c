"""Formats values for people: latencies, sizes, counts, ratios, options."""

from datetime import datetime
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from hub.pages import speedwords
from hub.pages.interval import interval_mark

register = template.Library()
register.filter("error_share", speedwords.error_share)
register.filter("error_label", speedwords.error_label)

_VERDICTS = {"same": "the same within noise", "unstable": "inconclusive"}
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@register.filter
def count(value: float | None) -> str:
    """25557032 -> ``25.6 M``."""
    if value is None:
        return "unknown"
    for size, unit in _COUNTS:
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:g}"


@register.filter
def grouped(value: int) -> str:
    """25557032 -> ``25,557,032``."""
    return f"{value:,}"


@register.filter
def latency(ns: float | None) -> str:
    """Nanoseconds -> ``4.03 ms``."""
    if ns is None:
        return ""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            # Three significant digits, including zeros.
            return f"{f'{ns / size:#.3g}'.rstrip('.')} {unit}"
    return f"{ns:.0f} ns"


@register.filter
def signed_latency(ns: float) -> str:
    """A difference in nanoseconds -> ``+4.03 ms`` or ``−4.03 ms``."""
    return f"{'+' if ns > 0 else '−' if ns < 0 else ''}{latency(abs(ns))}"


@register.filter
def speedup(ratio: float | None) -> str:
    """A ratio of latencies to the default's -> ``1.92 times as fast``; "" if unknown."""
    return speedwords.speed(ratio) if ratio else ""


@register.filter
def options(candidate: dict[str, Any]) -> str:
    """A candidate's options -> ``precision=int8-static, threads=all``."""
    chosen = dict(candidate.get("options", {}))
    if chosen.pop("default", False):
        return "nothing set"
    return ", ".join(f"{name}={value}" for name, value in sorted(chosen.items())) or "nothing set"


@register.filter
def subject(message: str) -> str:
    """The first line of a commit's message."""
    return message.partition("\n")[0]


@register.filter
def after_subject(message: str) -> str:
    """A commit's message without its first line."""
    return message.partition("\n")[2].strip()


@register.filter
def ago(when: datetime) -> str:
    """Time since, in its largest unit: ``3 days ago``; ``just now`` below a minute."""
    since = timesince(when, depth=1)
    return "just now" if since.startswith("0") else f"{since} ago"


@register.filter
def short(oid: str) -> str:
    """The first ten digits of a digest."""
    return oid[:10]


@register.simple_tag
def interval(ratio: float, low: float | None, high: float | None) -> SafeString:
    """A ratio and its interval as a small plot."""
    return interval_mark(ratio, ratio if low is None else low, ratio if high is None else high)


@register.filter
def percent(share: float) -> str:
    """0.9731 -> ``97.3 %``."""
    return f"{share * 100:.1f} %"


def _share_of_largest(share: float) -> str:
    """A largest relative error -> ``0.012 % of the largest output``."""
    shown = f"{share * 100:.2g} %" if share == 0 or share >= 1e-6 else f"{share:.1e}"
    return f"{shown} of the largest output"


@register.filter
def deviation(figures: dict[str, Any]) -> str:
    """The largest absolute error with its scale -> ``14, at most 0.012 % of the largest output``.

    Both are the worst over all outputs, perhaps of different ones. Empty without figures.
    """
    largest, share = figures.get("max_absolute"), figures.get("max_relative")
    parts = [] if largest is None else [f"{largest:.2g}"]
    if share is not None:
        parts.append(f"{'at most ' if parts else ''}{_share_of_largest(share)}")
    return ", ".join(parts)


@register.filter
def entry(group: dict[str, Any], key: str) -> str:
    """One value of a record's group for people; an absolute error with its scale."""
    return deviation(group) if key == "max_absolute" else plain(group[key])


@register.filter
def verdict(name: str) -> str:
    """A verdict in words: ``unstable`` -> ``inconclusive``."""
    return _VERDICTS.get(name, name)


@register.filter
def words(text: str) -> list[str]:
    """Space-separated words, for a loop."""
    return text.split()


@register.filter
def item(mapping: dict[str, Any], key: str) -> Any:
    """A value by its key; ``None`` if absent."""
    return mapping.get(key)


@register.filter
def unslug(name: str) -> str:
    """``relative_l2`` -> ``relative l2``."""
    return name.replace("_", " ")


@register.filter
def plain(value: Any) -> str:
    """A JSON value on one line for people."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(plain(inner) for inner in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
