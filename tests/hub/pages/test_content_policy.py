"""Pages run no script and apply no style that stands in the page itself.

What browsers report is collected in ``test_accessibility.py``.
"""

import re
from html.parser import HTMLParser

import pytest
from django.test import Client

from registry.tables import User

pytestmark = pytest.mark.django_db

#: Types of scripts that browsers do not run (https://html.spec.whatwg.org/#data-block).
_DATA = {"application/json", "application/ld+json"}
_OTHERS = ["/login", "/signup", "/docs/errors", "/api/docs"]


class _Inline(HTMLParser):
    """Collects what a policy without ``unsafe-inline`` forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.forbidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        inline = tag == "script" and "src" not in given and given.get("type") not in _DATA
        if inline or tag == "style":
            self.forbidden.append(f"<{tag}>")
        self.forbidden += [
            f"<{tag} {name}>"
            for name, value in attrs
            if name == "style"
            or re.match(r"on|hx-on", name)
            or (value or "").lower().startswith("javascript:")
        ]


def inline_parts(html: str) -> list[str]:
    reader = _Inline()
    reader.feed(html)
    return reader.forbidden


def test_no_page_holds_scripts_styles_or_handlers(
    client: Client, addresses: list[str], alice: User
) -> None:
    client.force_login(alice)
    for address in [*addresses, *_OTHERS]:
        answer = client.get(address, headers={"accept": "text/html"})
        if not answer.headers["Content-Type"].startswith("text/html"):
            continue
        assert inline_parts(answer.content.decode()) == [], address
        assert "unsafe" not in answer.headers["Content-Security-Policy"], address


@pytest.mark.parametrize(
    "html",
    [
        "<p style='color:red'>", "<svg><rect style=''/></svg>", "<style>p {}</style>",
        "<script>alert()</script>", "<a onclick='x()'>", "<div hx-on:click='x()'>",
        "<a href='javascript:x()'>",
    ],
)  # fmt: skip
def test_inline_parts_are_recognised(html: str) -> None:
    assert inline_parts(html)
