"""The mark of a ratio and its interval in tables: a small inline SVG."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

_WIDTH, _HEIGHT = 160, 18
#: Ends of the axis, as ratios; values beyond are drawn at the end.
_LEAST, _MOST = 0.0, 1.5


def interval_mark(ratio: float, low: float, high: float) -> SafeString:
    """A ratio and its interval on an axis from 0 to 1.5 with a line at 1.

    Colours come from the style sheet's classes, and so follow light and dark.
    """
    return format_html(
        '<svg class="plot interval" viewBox="0 0 {w} {h}" role="img">'
        "<title>{ratio} times the baseline latency, 95 % interval {low} to {high}</title>"
        '<line class="axis" x1="4" x2="{end}" y1="9" y2="9"/>'
        '<line class="grid-line" x1="{one}" x2="{one}" y1="1" y2="17"/>'
        '<line class="one whisker" x1="{lo}" x2="{hi}" y1="9" y2="9"/>'
        '<circle class="one bar" cx="{at}" cy="9" r="4"/></svg>',
        w=_WIDTH,
        h=_HEIGHT,
        end=_WIDTH - 4,
        one=_x(1.0),
        lo=_x(low),
        hi=_x(high),
        at=_x(ratio),
        ratio=f"{ratio:.3f}",
        low=f"{low:.3f}",
        high=f"{high:.3f}",
    )


def _x(value: float) -> str:
    inside = min(max(value, _LEAST), _MOST)
    return f"{4 + (_WIDTH - 8) * (inside - _LEAST) / (_MOST - _LEAST):.1f}"
