"""FAIR Signposting's own client on a running hub: what it finds, beginning at an identifier."""

import json
from typing import Any

import httpx
import pytest
from pytest_django.live_server_helper import LiveServer

from registry.fair.formats import formats_of
from registry.selectors.fair.identifier import identifier_of, pid_url
from registry.selectors.repository.revision import revision_get
from registry.tables import User
from tests.hub.fair.records import FILES, make_record
from tests.validators.environments import run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

# Prints what the client understood of a page's header and of the link set that it leads to.
READER = """
import json, sys
from signposting import find_signposting_http, find_signposting_linkset
def told(found):
    return sorted([str(s.context), str(s.rel), str(s.target), str(s.type or "")]
                  for s in found.signposts)
page = find_signposting_http(sys.argv[1])
print(json.dumps({
    "page": told(page),
    "linkset": told(find_signposting_linkset(str(next(iter(page.linksets)).target))),
}))
"""


@pytest.mark.parametrize("way", ["identifier", "page"])
def test_its_client_finds_everything_from_either_address(
    live_server: LiveServer, charlie: User, lab: object, settings: Any, way: str
) -> None:
    settings.HUB_URL = live_server.url
    record = make_record(charlie)
    revision = revision_get(record)
    identifier = identifier_of(revision)
    assert identifier is not None
    pid = pid_url(identifier.name)
    page = f"{live_server.url}/lab/galaxy-net"
    start, landing = {
        "identifier": (pid, f"{page}?revision={revision.oid}"),
        "page": (page, page),
    }[way]
    actual = json.loads(run("signposting", "python", "-c", READER, start))
    of_page = {tuple(link) for _, *link in actual["page"]}
    of_set = {tuple(link) for context, *link in actual["linkset"] if context == landing}
    assert ("cite-as", pid, "text/html") in of_page
    assert ("author", "https://orcid.org/0000-0002-1825-0097", "") in of_page
    assert ("license", "https://spdx.org/licenses/Apache-2.0", "") in of_page
    described = {kind for rel, _, kind in of_set if rel == "describedby"}
    assert described == {one.media_type for one in formats_of("model")}
    assert of_page <= of_set
    files = [target for rel, target, _ in of_set if rel == "item" and "/resolve/" in target]
    # Some of them have no room in the header.
    assert len(files) == revision.files.count() >= len(FILES)
    # What is named is there, of the type that is told, and leads back.
    for rel, target, kind in of_set:
        if rel in {"item", "describedby", "cite-as"}:
            answer = httpx.head(target, follow_redirects=True)
            assert answer.status_code == 200, target
            assert answer.headers["Content-Type"].partition(";")[0] == kind, target
            if rel != "cite-as":
                assert f"<{landing}>" in answer.headers["Link"], target
                assert 'rel="linkset"' in answer.headers["Link"], target
