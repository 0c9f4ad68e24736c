import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair import api_catalog
from registry.fair.api_catalog import Api
from registry.fair.crate import rocrate
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.parts import Agent, License
from registry.fair.signposting import (
    LINKSET_TEXT_TYPE,
    LINKSET_TYPE,
    Link,
    header,
    links,
    linkset,
    metadata_url,
    of_landing,
    render_linkset,
    render_linkset_text,
)
from tests.registry.fair.samples import (
    CONCEPT_PID,
    EVERY,
    HUB,
    LEAST,
    MOST,
    URL,
    WITHDRAWN,
    file_of,
)
from tests.validators.environments import run

every = pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
LANDING_RELS = {
    "cite-as", "type", "license", "author", "item", "linkset", "api-catalog", "describedby"
}  # fmt: skip
# Reads with the public functions of FAIR Signposting's own client and prints what it understood.
READER = """
import json, sys
from signposting import find_signposting_http, find_signposting_linkset
def told(found):
    return [[str(s.context), str(s.rel), str(s.target), s.type and str(s.type),
             sorted(map(str, s.profiles))] for s in found.signposts]
print(json.dumps([
    {"header": told(find_signposting_http(base + "/page")),
     "json": told(find_signposting_linkset(base + "/set", "application/linkset+json")),
     "text": told(find_signposting_linkset(base + "/set", "application/linkset"))}
    for base in sys.argv[1:]
]))
"""


def targets(made: list[Link], rel: str) -> list[str]:
    return [link.target for link in made if link.rel == rel]


@every
def test_the_page_says_what_it_is_and_what_belongs_to_it(description: Description) -> None:
    made = of_landing(description)
    assert targets(made, "cite-as") == [description.pid]
    assert targets(made, "type") == ["https://schema.org/Dataset", "https://schema.org/AboutPage"]
    assert targets(made, "linkset") == [description.linkset_url]
    wanted = list(description.license.uris) if description.license else []
    assert targets(made, "license") == wanted
    orcids = [agent.orcid for agent in description.creators if agent.orcid]
    assert targets(made, "author") == orcids
    assert {link.anchor for link in made} == {description.landing}


@every
def test_each_format_describes_the_page_and_the_canonical_one_comes_last(
    description: Description,
) -> None:
    described = [link for link in of_landing(description) if link.rel == "describedby"]
    formats = formats_of(description.kind)
    assert [link.target for link in described] == [metadata_url(description, f) for f in formats]
    assert [(link.type, link.profile) for link in described] == [
        (f.media_type, f.profile) for f in formats
    ]
    assert described[-1].target.endswith(f"/metadata/jsonld?revision={description.oid}")
    assert header(of_landing(description)).split(", ")[-1].startswith(f"<{described[-1].target}>")


def test_files_and_the_crate_are_items_until_they_are_withdrawn() -> None:
    made = of_landing(MOST)
    assert targets(made, "item") == [MOST.crate_url, *(file.url for file in MOST.files)]
    crate = next(link for link in made if link.target == MOST.crate_url)
    assert (crate.type, crate.profile) == ("application/zip", rocrate.PROFILE)
    assert {link.rel for link in links(WITHDRAWN)} & {"item", "collection"} == set()
    assert targets(of_landing(WITHDRAWN), "describedby") == targets(made, "describedby")


@every
def test_all_links_of_the_header_stand_in_the_link_set(description: Description) -> None:
    document = linkset(description)
    contexts = {context["anchor"]: context for context in document["linkset"]}
    page = contexts[description.landing]
    assert set(page) - {"anchor"} <= LANDING_RELS
    for link in of_landing(description):
        assert any(target["href"] == link.target for target in page[link.rel])
    for format_ in formats_of(description.kind):
        about = contexts[metadata_url(description, format_)]
        assert [target["href"] for target in about["describes"]] == list(description.pages)
    assert json.loads(render_linkset(description)) == document
    assert b"profile" not in render_linkset(description)


@every
def test_whatever_a_page_names_leads_back_to_it(description: Description) -> None:
    """Level 2: the link set holds the way back, of the crate as well, to either address."""
    contexts = {context["anchor"]: context for context in linkset(description)["linkset"]}
    for page in description.pages:
        for rel, back in (("item", "collection"), ("describedby", "describes")):
            for named in contexts[page].get(rel, ()):
                ways = [target["href"] for target in contexts[named["href"]][back]]
                assert page in ways, (rel, named)
    assert MOST.pages == (MOST.concept_landing, MOST.landing)
    assert WITHDRAWN.pages == (WITHDRAWN.landing,)
    assert MOST.crate_url in contexts or description is not MOST


def test_the_newest_version_is_found_under_the_address_of_the_model() -> None:
    anchors = {context["anchor"] for context in linkset(MOST)["linkset"]}
    assert MOST.concept_landing in anchors
    older = replace(MOST, versions=(CONCEPT_PID, MOST.pid))
    assert older.concept_landing not in {context["anchor"] for context in linkset(older)["linkset"]}


def test_a_header_has_few_items_and_little_weight() -> None:
    many = replace(MOST, files=tuple(file_of(f"{n}.csv", "text/csv", "other") for n in range(500)))
    text = header(of_landing(many))
    assert len(text) <= 3500
    assert 0 < text.count('rel="item"') <= 20
    assert text.count('rel="describedby"') == 10 < len(formats_of("model"))
    assert len(targets(of_landing(many), "item")) == 501
    assert len(targets(of_landing(many), "describedby")) == len(formats_of("model"))


@every
def test_the_link_set_of_the_record_comes_before_that_of_the_hub(description: Description) -> None:
    written = header(of_landing(description))
    assert written.index('rel="linkset"') < written.index('rel="api-catalog"')


def test_a_header_without_room_keeps_what_leads_on() -> None:
    long = "https://hub.example.org/" + "n" * 260
    cramped = replace(MOST, concept_landing=long, landing=f"{long}?revision={MOST.oid}")
    text = header(of_landing(cramped))
    assert len(text) <= 3500
    assert {'rel="cite-as"', 'rel="linkset"', 'rel="license"', 'rel="type"'} <= set(
        re.findall(r'rel="[^"]+"', text)
    )
    assert text.split(", ")[-1].startswith(f"<{long}/metadata/jsonld?")
    assert text.count('rel="describedby"') < 11


@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_that_strangers_write_takes_a_header_apart(first: str, second: str) -> None:
    hostile = replace(
        MOST,
        license=License(expression="LicenseRef-x", uris=(f"https://example.org/{first}",)),
        creators=(Agent(name="x", url=f"https://example.org/{second}"), Agent(name=second)),
    )
    made = of_landing(hostile)
    text = header(made)
    assert text.isascii()
    assert text.isprintable()
    # What assessors do: they split at commas and semicolons, whatever is quoted.
    for part in text.split(","):
        target, *attributes = (one.strip() for one in part.split(";"))
        assert re.fullmatch(r"<[^<>\s]+>", target)
        assert all(re.fullmatch(r'(rel|type|profile)="[^"\\]+"', one) for one in attributes)
        assert sum(one.startswith("rel=") for one in attributes) == 1
    assert len(targets(made, "license")) == len(targets(made, "author")) == 1
    json.loads(render_linkset(hostile))


@pytest.mark.parametrize("uri", ["javascript:alert(1)", "see LICENSE", "", "https://", "data:,x"])
def test_what_leads_nowhere_is_no_link(uri: str) -> None:
    odd = replace(LEAST, license=License(expression="LicenseRef-x", uris=(uri,)))
    assert targets(of_landing(odd), "license") == []


def test_the_hub_lists_its_interfaces() -> None:
    api = Api(
        url=f"{URL}/api/v1",
        description=(f"{URL}/api/v1/schema", "application/vnd.oai.openapi+json"),
        documentation=f"{URL}/docs",
        status=f"{URL}/healthz",
    )
    document = api_catalog.document(HUB, [api, Api(url=f"{URL}/oai")])
    catalogue, about = document["linkset"]
    assert catalogue == {
        "anchor": f"{URL}/.well-known/api-catalog",
        "item": [{"href": f"{URL}/api/v1"}, {"href": f"{URL}/oai"}],
    }
    assert set(about) == {"anchor", "service-desc", "service-doc", "status"}
    assert json.loads(api_catalog.render(HUB, [api, Api(url=f"{URL}/oai")])) == document


class Pages(BaseHTTPRequestHandler):
    """``/<sample>/page`` with the header, ``/<sample>/set`` with the link set as asked for."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def _answer(self, *, with_body: bool) -> None:
        _, name, what = self.path.split("/")
        accepted = self.headers.get("Accept", "")
        self.send_response(200)
        if what == "page":
            body, media_type = b"", "text/html"
            self.send_header("Link", header(of_landing(EVERY[name])))
        elif accepted == LINKSET_TEXT_TYPE:
            body, media_type = render_linkset_text(EVERY[name]), LINKSET_TEXT_TYPE
        else:
            body, media_type = render_linkset(EVERY[name]), LINKSET_TYPE
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


@pytest.fixture(scope="module")
def understood() -> Iterator[dict[str, Any]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        told = run("signposting", "python", "-c", READER, *(f"{base}/{name}" for name in EVERY))
        yield dict(zip(EVERY, json.loads(told), strict=True))
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_the_signposting_client_understands_the_header(
    understood: dict[str, Any], name: str
) -> None:
    wanted = {
        (link.rel, link.target, link.type, link.profile)
        for link in of_landing(EVERY[name])
        if link.rel != "api-catalog"
    }
    told = {
        (rel, target, type_, profiles[0] if profiles else None)
        for _, rel, target, type_, profiles in understood[name]["header"]
    }
    assert told <= wanted
    # The header has room for ten formats; the link set has all.
    assert {rel for rel, *_ in wanted - told} <= {"describedby"}
    assert sum(rel == "describedby" for rel, *_ in told) == 10


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("name", EVERY)
def test_the_signposting_client_understands_the_link_set(
    understood: dict[str, Any], name: str, form: str
) -> None:
    wanted = {
        (link.anchor, link.rel, link.target, link.type)
        for link in links(EVERY[name])
        if link.rel != "api-catalog"
    }
    assert {tuple(one[:4]) for one in understood[name][form]} == wanted
