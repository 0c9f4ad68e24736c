"""Texts that are made to be costly cost little, and show their beginning."""

import time
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import markdown
from hub.pages.markdown import MAX_HTML, MAX_TEXT, render
from registry.fair.card.markup import markup
from registry.tables import User
from registry.validation.card import Card
from registry.validation.sections import sections_of
from tests.factories import make_mlmodel, readme

#: Seconds of processor time that parsing may take at most.
PATIENCE_S = 10.0
_N = 20_000

HOSTILE = {
    "nested quotes": ">" * _N + "a",
    "quotes in lines": "\n".join(">" * (n % 400) + " a" for n in range(2000)),
    "nested lists": "\n".join("  " * n + "- a" for n in range(600)),
    "nested lists in a line": "- " * _N + "a",
    "nested quotes and lists": "> - " * (_N // 2) + "a",
    "ordered lists": "1. " * _N + "a",
    "emphasis": "*a **a " * (_N // 4),
    "nested emphasis": "*" * _N + "a" + "*" * _N,
    "alternating emphasis": "*_" * _N + "a",
    "closers without openers": "a* " * _N + "b_ " * _N,
    "emphasis of the rule of three": "a**b" + "c* " * _N,
    "open brackets": "[" * _N + "a",
    "nested links": "[" * _N + "a" + "](b)" * _N,
    "link openers": "[a](<b" * (_N // 2),
    "link titles": '[a](b "' * (_N // 4),
    "images": "![" * _N + "a",
    "nested images": "![[]()" * (_N // 2),
    "references": "[a]: b\n" * (_N // 4),
    "reference uses": "[a]: " + "x" * 50_000 + "\n\n" + "[a] " * 30_000,
    "unclosed references": "[a]: \\\n" * (_N // 4),
    "table columns": "|" + "a|" * 5000 + "\n|" + "-|" * 5000 + "\n" + "|a\n" * 5000,
    "tables": "|a|\n|-|\n|b|\n\n" * 5000,
    "table cells": "|x" * 2000 + "\n" + "|-" * 2000 + "\n" + ("|" * 2000 + "\n") * 40,
    "backticks": "".join("a" + "`" * n for n in range(1, 600)),
    "backtick pairs": "`a" * _N,
    "angle brackets": "<" * _N,
    "autolinks": "<a:" * _N,
    "tags": "<a b=" * _N,
    "comments": "<!-- " * _N,
    "declarations": "<!A " * _N + "<? " * _N,
    "entities": "&" * _N + "&#x" * _N,
    "escapes": "\\" * (2 * _N),
    "fences": "```\n" * _N,
    "tildes": "~" * _N + "\n" + "~~a" * _N,
    "strikethrough": "~~a ~~~b " * (_N // 4),
    "line breaks": "a  \n" * _N,
    "headings": "#" * _N + "\n" + "# a\n" * _N,
    "underlines": "a\n" * _N + "===",
    "rules": "* * *\n" * _N,
    "spaces": " " * _N + "a\n" + "\t" * _N,
    "blank lines": "\n" * (3 * _N),
    "quoted lines without end": ("> a\n" * 100 + "b\n") * 100,
    "lazy continuations": "> > > > > a\n" + "b\n" * _N,
    "NUL and surrogates": "\0" * _N + "\ufffd" * _N + "a",
    "one word": "a" * 5_000_000,
    "five megabytes of prose": "A sentence of some words, again and again. " * 120_000,
    "five megabytes of lines": "a\n" * 2_500_000,
    "five megabytes of brackets": "[" * 5_000_000,
}


@pytest.fixture(autouse=True)
def nothing_rendered() -> None:
    markdown._cache = markdown._Cache(markdown.MAX_CACHED)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_holds_a_worker(text: str) -> None:
    began = time.thread_time()
    rendering = render(text)
    card = Card(body=text)
    assert isinstance(card.description, str)
    sections_of(text)
    markup(card)
    assert time.thread_time() - began < PATIENCE_S
    assert len(rendering.html) <= 2 * MAX_HTML
    if len(text) > MAX_TEXT:
        assert rendering.is_cut


def test_a_text_that_takes_too_long_shows_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "# Title\n\nFirst.\n\n" + "[" * 100_000 + "\n\n*Last.*\n"
    monkeypatch.setattr(markdown, "MAX_PARSE_S", 0.0)
    plain = render(text)
    assert plain.is_cut
    assert "<pre" in plain.html
    assert "# Title" in plain.html
    assert "<em>" not in plain.html


def test_the_cut_is_at_the_end_of_a_line() -> None:
    rendering = render("a line of *text*\n\n" * 20_000)
    assert rendering.is_cut
    assert rendering.html.endswith("<p>a line of <em>text</em></p>\n")


def test_the_same_text_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    original = markdown._render
    monkeypatch.setattr(markdown, "_render", lambda text: texts.append(text) or original(text))
    assert render("*a*") == render("*a*")
    render("*b*")
    assert texts == ["*a*", "*b*"]
    monkeypatch.setattr(markdown, "_RENDERER", (0, "0", "0"))
    render("*a*")
    assert texts == ["*a*", "*b*", "*a*"], "another release may render otherwise"


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = markdown._Cache(100)
    for number in range(1000):
        cache.put(str(number).encode(), render(f"word {number}"))
    assert sum(len(one.html) for one in cache._entries.values()) <= 100
    assert cache._length == sum(len(one.html) for one in cache._entries.values())
    assert cache.get(b"999") is not None
    assert cache.get(b"0") is None


@given(st.lists(st.sampled_from([*"*_[]()!<>`~|-#&\\\n \t:'\"", "a", "1.", "&amp;", "![", "]("])))
def test_html_is_always_safe(pieces: list[str]) -> None:
    html = render("".join(pieces)).html.lower()
    for part in ("<script", "<iframe", "javascript:", "onerror=", "<style"):
        assert part not in html


@pytest.mark.django_db
def test_the_page_of_a_long_card_links_to_the_whole(
    client: Client, alice: User, data_dir: Any
) -> None:
    make_mlmodel("alice/net", actor=alice, files={"README.md": readme("a *word*\n\n" * 30_000)})
    page = client.get("/alice/net").content.decode()
    assert "Only the beginning of this card is shown." in page
    assert "/raw/" in page.split("Only the beginning", 1)[1][:300]
    make_mlmodel("alice/short", actor=alice, files={"README.md": readme("a *word*")})
    assert "Only the beginning" not in client.get("/alice/short").content.decode()
