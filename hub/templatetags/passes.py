"""Lists of compiler passes and their effects, for people."""

from django import template

from hub.pages.chart.passes import change as change_percent
from hub.pages.chart.passes import change_text
from registry.selectors.analysis.passes import MeanRatio

register = template.Library()


@register.filter
def change(mean: MeanRatio | None) -> str:
    """``−40 % [−44, −35]``."""
    return change_text(mean)


@register.filter
def change_of(ratio: float) -> str:
    """0.6 -> ``−40 %``."""
    return f"{change_percent(ratio):+.0f} %".replace("-", "−")


@register.filter
def pass_count(passes: str) -> str:
    """A list in a few words: ``12 passes``."""
    if passes in {"", "default"}:
        return "the compiler's own list" if passes else "no passes"
    count = passes.count(",") + 1
    return f"{count} pass{'es' * (count != 1)}"


@register.filter
def pass_text(passes: str) -> str:
    """A list with room to break lines."""
    return passes.replace(",", ", ")
