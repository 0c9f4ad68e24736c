"""Renders READMEs and comments, which are untrusted, as safe HTML, within bounds.

Some texts of a few kilobytes take a parser of Markdown minutes, and some become gigabytes of HTML.
Length, time and size of the result are bounded; of a text beyond a bound the beginning is rendered.
Results are cached by the text's digest and the versions of the renderer, also those that were cut,
so that a costly text is not rendered for each visitor.
"""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from importlib.metadata import version

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token

from registry.validation.bounded_markdown import BoundedParser, TooCostly

#: Upper bounds: characters that are rendered, seconds of parsing, characters of HTML.
MAX_TEXT = 200_000
MAX_PARSE_S = 1.0
MAX_HTML = 2_000_000
#: Upper bound on the cached HTML of a process, in characters.
MAX_CACHED = 16_000_000
# A text that takes too long is tried again with an eighth of it, this often.
_TRIES = 3
_PLAIN = 20_000
# A change of this module that changes the result changes this number.
_RENDERER = (1, version("markdown-it-py"), version("nh3"))


@dataclass(frozen=True, slots=True)
class Rendering:
    """Safe HTML; ``is_cut`` if it is that of the beginning of the text only."""

    html: SafeString
    is_cut: bool


def render(text: str) -> Rendering:
    """CommonMark with tables to HTML; scripts, styles and frames are removed."""
    key = hashlib.sha256(repr((_RENDERER, text)).encode()).digest()
    cached = _cache.get(key)
    if cached is None:
        cached = _render(text)
        _cache.put(key, cached)
    return cached


def _render(text: str) -> Rendering:
    part, seconds = _beginning(text, MAX_TEXT), MAX_PARSE_S
    for _ in range(_TRIES):
        try:
            return Rendering(_clean(_html(part, seconds)), len(part) < len(text))
        except TooCostly:
            part, seconds = _beginning(part, len(part) // 8), seconds / 2
    plain = f"<pre><code>{escape(text[:_PLAIN])}</code></pre>"
    return Rendering(_clean(plain), is_cut=len(text) > _PLAIN)


def _beginning(text: str, length: int) -> str:
    """At most ``length`` characters, to the end of a line if there is one."""
    if len(text) <= length:
        return text
    return text[: text.rfind("\n", 0, length) + 1] or text[:length]


def _html(text: str, seconds: float) -> str:
    tokens = _PARSER.parse(text, seconds)
    # Each use of a link's definition repeats its address.
    if sum(map(_length, tokens)) > MAX_HTML:
        raise TooCostly
    markdown = _PARSER.markdown
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _length(token: Token) -> int:
    own = len(token.content) + sum(len(str(value)) for value in token.attrs.values())
    # A piece of inline text is also the content of the token that holds the pieces.
    return sum(map(_length, token.children)) if token.children else own + len(token.tag)


def _clean(html: str) -> SafeString:
    clean = nh3.clean(html, link_rel="nofollow noopener", url_schemes={"http", "https", "mailto"})
    # Code that overflows its box must be focusable to be scrolled by keyboard.
    clean = clean.replace("<pre>", '<pre tabindex="0">')
    return mark_safe(clean)  # noqa: S308 - nh3 has just cleaned it


class _Cache:
    """The most recently used renderings, up to a total length. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._length = 0
        self._entries: OrderedDict[bytes, Rendering] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Rendering | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: bytes, rendering: Rendering) -> None:
        with self._lock:
            if key not in self._entries:
                self._length += len(rendering.html)
            self._entries[key] = rendering
            while self._length > self._most:
                self._length -= len(self._entries.popitem(last=False)[1].html)


_PARSER = BoundedParser({"html": False}, enable=("table", "strikethrough"))
_cache = _Cache(MAX_CACHED)
