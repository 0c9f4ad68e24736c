"""Differences of revisions for people."""

from django import template

from hub.pages import speedwords
from registry.selectors.analysis.revisiondiff import Speeds
from registry.tables import Build

register = template.Library()


@register.filter
def builds_of_row(speeds: Speeds) -> tuple[Build | None, ...]:
    """The cells of a row: defaults before and after, fastest builds before and after."""
    return speeds.default_before, speeds.default_after, speeds.best_before, speeds.best_after


@register.filter
def change_words(ratio: float) -> str:
    """0.5 -> ``2 times as fast``; within 0.5 % ``as fast as before``."""
    factor = speedwords.times(max(ratio, 1 / ratio))
    if factor == "1":
        return "as fast as before"
    return f"{factor} times as {'fast' if ratio < 1 else 'slow'}"
