import base64
import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.description import Description
from registry.fair.linked.jsonld import document, embedded
from registry.fair.parts import Agent
from registry.fair.score.served import links_in, linkset_in, page_in, sha256_in
from registry.fair.signposting import Link, header, links, of_landing, render_linkset
from tests.registry.fair.samples import EVERY, MOST

every = pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
PAGE = "https://hub.example.org/lab/x"


@every
def test_what_we_send_is_what_is_seen(description: Description) -> None:
    sent = of_landing(description)
    formats = [link for link in sent if link.rel == "describedby"]
    # A header has the last ten formats only; the link set has all.
    in_header = set(sent) - set(formats[:-10])
    assert set(links_in(header(sent), description.landing)) == in_header
    seen = linkset_in(render_linkset(description), description.linkset_url)
    assert set(seen) == {replace(link, profile=None) for link in links(description)}
    page = page_in(
        '<title>x</title><style>p {}</style><script type="application/ld+json">'
        f"{embedded(description)}</script><script>write('no')</script>"
        "<p>A <b>page</b>&amp;\n text"
    )
    assert page.embedded == document(description)
    assert page.text == "A page & text"


def test_a_header_may_be_written_in_many_ways() -> None:
    text = ' <a>;rel="item  License" ;Type=text/csv; rel=next,<https://b.example/,;>; rel=type '
    assert links_in(text, PAGE) == [
        Link(anchor=PAGE, rel="item", target="https://hub.example.org/lab/a", type="text/csv"),
        Link(anchor=PAGE, rel="license", target="https://hub.example.org/lab/a", type="text/csv"),
        Link(anchor=PAGE, rel="type", target="https://b.example/,;"),
    ]
    anchored = links_in('<a>; rel="item"; anchor="#me"; title="\\"quoted, \\\\"', PAGE)
    assert [link.anchor for link in anchored] == [f"{PAGE}#me"]


@pytest.mark.parametrize("text", ["", "nonsense", "<a", "<a>", '<a>; rel="item', ",,<>"])
def test_what_is_no_link_is_not_there(text: str) -> None:
    assert links_in(text, PAGE) == []


@given(st.text(alphabet='<>;,="\\ \tab/:[]#', max_size=60))
def test_no_header_breaks_the_reader(text: str) -> None:
    assert isinstance(links_in(text, PAGE), list)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["linkset", "anchor", "href", "item"]), inner)
        ),
    )
)
def test_no_link_set_breaks_the_reader(value: Any) -> None:
    assert isinstance(linkset_in(json.dumps({"linkset": [value]}).encode(), PAGE), list)
    assert linkset_in(json.dumps(value).encode()[:-1], PAGE) == []


@given(st.text(max_size=100))
def test_no_page_breaks_the_reader(html: str) -> None:
    assert isinstance(page_in(html).text, str)


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_metadata_cannot_leave_their_element(name: str) -> None:
    hostile = replace(MOST, title=name + "</script>", creators=(Agent(name=f"<!--<script>{name}"),))
    page = page_in(f'<script type="application/ld+json">{embedded(hostile)}</script>seen')
    assert page.embedded == document(hostile)
    assert page.text == "seen"


def test_a_digest_is_read_from_its_header() -> None:
    digest = hashlib.sha256(b"x")
    coded = base64.b64encode(digest.digest()).decode()
    assert sha256_in(f"sha-256=:{coded}:") == digest.hexdigest()
    assert sha256_in(f"sha-512=:AAAA:, sha-256=:{coded}:") == digest.hexdigest()
    for wrong in ("", "sha-256=:AAAA:", "sha-256=:=:", f"sha-256={coded}", f"x-sha-256=:{coded}:"):
        assert sha256_in(wrong) == ""
