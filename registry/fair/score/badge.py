"""The FAIR badge: an SVG picture of the points of a record."""

import re
from xml.etree import ElementTree

from registry.fair.score.score import Points

# Lower bound of the share for each colour; white text on it has a contrast of at least 4.5 to 1
# (WCAG 2.2, 1.4.3).
_COLOURS = ((0.9, "#1a6e2e"), (0.6, "#7a5a00"), (0.0, "#a32020"))
_GREY = "#555"
# Upper bound on the width of the glyphs that a badge shows, in Verdana at 11 px.
_GLYPH_PX = 7.5
_PADDING_PX = 12
_HEIGHT_PX = 20
_NO_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def badge(points: Points | None, *, label: str = "FAIR") -> bytes:
    """An SVG picture of the points (``None`` before the first assessment), with a text for screen
    readers."""
    value, whole, colour = "not assessed", f"{label}: not assessed", _GREY
    if points is not None:
        value = f"{points.points:g} of {points.of:g}"
        whole = f"{label}: {value} points, {points.percent} %"
        colour = next(colour for least, colour in _COLOURS if points.percent >= 100 * least)
    left, right = (_GLYPH_PX * len(text) + _PADDING_PX for text in (label, value))
    svg = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": f"{left + right:g}",
            "height": str(_HEIGHT_PX),
            "role": "img",
            "aria-label": _drawable(whole),
        },
    )
    ElementTree.SubElement(svg, "title").text = _drawable(whole)
    for x, width, fill in ((0.0, left, "#444"), (left, right, colour)):
        ElementTree.SubElement(
            svg,
            "rect",
            {"x": f"{x:g}", "width": f"{width:g}", "height": str(_HEIGHT_PX), "fill": fill},
        )
    text = {"fill": "#fff", "font-family": "Verdana, DejaVu Sans, sans-serif", "font-size": "11"}
    group = ElementTree.SubElement(svg, "g", text | {"text-anchor": "middle"})
    for x, words in ((left / 2, label), (left + right / 2, value)):
        ElementTree.SubElement(group, "text", {"x": f"{x:g}", "y": "14"}).text = _drawable(words)
    data: bytes = ElementTree.tostring(svg, encoding="utf-8")
    return data


def _drawable(text: str) -> str:
    """``text`` without characters that XML cannot represent (XML 1.0, section 2.2)."""
    return _NO_XML.sub("\ufffd", text)
