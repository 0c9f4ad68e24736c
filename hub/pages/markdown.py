"""Renders READMEs, which are untrusted, as safe HTML."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render(text: str) -> SafeString:
    """CommonMark with tables to HTML; scripts, styles and frames are removed."""
    clean = nh3.clean(
        _PARSER.render(text), link_rel="nofollow noopener", url_schemes={"http", "https", "mailto"}
    )
    # Code that overflows its box must be focusable to be scrolled by keyboard.
    clean = clean.replace("<pre>", '<pre tabindex="0">')
    return mark_safe(clean)  # noqa: S308 - nh3 has just cleaned it
