"""Hundreds of records: every page costs what the first one costs, and none is lost."""

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hub.fair import oai, sitemap
from registry.tables import Namespace
from tests.hub.fair.crowd import make_crowd
from tests.registry.fair.xml import OAI, read, texts

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Ten thousand pass as well; these fill twelve pages of the catalogue and three parts of a harvest.
MANY = 600


def ask(client: Client, address: str, query: dict[str, str], accept: str) -> tuple[bytes, int]:
    """Body of the answer, and how many queries it took."""
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(address, query, headers={"Accept": accept})
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200
    return answer.content, len(asked)


def harvest(client: Client, query: dict[str, str]) -> tuple[list[str], str, int]:
    """Identifiers, the token, and how many queries it took."""
    body, queries = ask(client, "/oai", query, "*/*")
    root = read(body)
    (token,) = texts(root, f"{OAI}resumptionToken")
    return texts(root, f"{OAI}identifier"), token, queries


def test_every_page_of_hundreds_of_records_takes_the_same_few_queries(
    client: Client, lab: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = make_crowd(lab, MANY)
    monkeypatch.setitem(oai.AT_ONCE, "ListIdentifiers", 200)

    found, token, first = harvest(client, {"verb": "ListIdentifiers", "metadataPrefix": "oai_dc"})
    costs = set()
    while token:
        more, token, cost = harvest(client, {"verb": "ListIdentifiers", "resumptionToken": token})
        found += more
        costs.add(cost)
    # The first one counts them all.
    assert costs == {first - 4}
    assert first < 14
    assert len(set(found)) == len(found) == MANY

    some, token, first = harvest(client, {"verb": "ListRecords", "metadataPrefix": "datacite"})
    assert some == found[: len(some)]
    more, _, second = harvest(client, {"verb": "ListRecords", "resumptionToken": token})
    assert more == found[len(some) : len(some) + len(more)]
    assert second == first - 4
    assert first < 40

    for accept in ("text/turtle", "text/html"):
        # Others than those that were described just now.
        numbers = [str(crowd[0].pk // 50 + one) for one in (5, 6, 8)]
        pages = [ask(client, "/catalog", {"page": one}, accept)[1] for one in numbers]
        assert len(set(pages)) == 1
        assert pages[0] < 40

    assert ask(client, "/sitemap.xml", {}, "*/*")[1] == 1
    assert ask(client, "/sitemap.xml", {"part": str(crowd[0].pk // sitemap.AT_ONCE)}, "*/*")[1] == 1
