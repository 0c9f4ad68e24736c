"""What crawlers read first: rules, and where all pages are."""

from pathlib import Path
from urllib.robotparser import RobotFileParser
from xml.etree.ElementTree import Element

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils.dateparse import parse_datetime

from hub.fair import sitemap
from registry.services.repository.mlmodel import mlmodel_delete
from registry.tables import MLModel, User
from tests.factories import make_mlmodel
from tests.hub.fair.records import make_data_record
from tests.registry.fair.xml import read, texts
from tests.validators.environments import run
from tests.validators.schemas import schema_at

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"
_SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_SCHEMAS = "https://www.sitemaps.org/schemas/sitemap/0.9"
_SCHEMA_PROGRAM = """
import sys
from lxml import etree
path, schema = sys.argv[1:]
etree.XMLSchema(etree.parse(schema)).assertValid(etree.parse(path))
"""


def get(client: Client, query: str = "") -> bytes:
    answer = client.get(f"/sitemap.xml{query}")
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/xml"
    return answer.content


def pages(root: Element) -> dict[str, str | None]:
    """Address to the time of its latest change."""
    return {
        one.findtext(f"{{{_SPACE}}}loc") or "": one.findtext(f"{{{_SPACE}}}lastmod") for one in root
    }


def test_every_public_page_is_listed_with_the_time_of_its_latest_change(
    client: Client, galaxy: MLModel, secret: MLModel, charlie: User
) -> None:
    data = make_data_record(charlie)
    mlmodel_delete(actor=charlie, mlmodel=make_mlmodel("lab/gone", actor=charlie))
    client.force_login(charlie)

    found = pages(read(get(client, "?part=0")))

    assert found[f"{HUB}/policy"] is None
    told = parse_datetime(found[f"{HUB}/lab/galaxy-cnn"] or "")
    assert told == galaxy.updated_at.replace(microsecond=0)
    assert f"{HUB}/datasets/{data.full_name}" in found
    assert not [url for url in found if "secret" in url or "gone" in url]
    for url in found:
        assert client.get(url.removeprefix(HUB) or "/").status_code == 200, url


def test_the_parts_hold_everything_and_tell_which_of_them_changed(
    client: Client, charlie: User, lab: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(4)]
    monkeypatch.setattr(sitemap, "AT_ONCE", made[2].pk)
    index = pages(read(get(client)))
    assert list(index) == [f"{HUB}/sitemap.xml?part=0", f"{HUB}/sitemap.xml?part=1"]
    parts = [pages(read(get(client, url.partition("xml")[2]))) for url in index]
    places = [{url for url, at in part.items() if at} for part in parts]
    assert places == [{f"{HUB}/{one.full_name}" for one in some} for some in (made[:2], made[2:])]
    for (_, newest), part in zip(index.items(), parts, strict=True):
        assert newest == max(at for at in part.values() if at)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "query"), [("siteindex", ""), ("sitemap", "?part=0")])
def test_the_schemas_of_the_protocol_accept_index_and_part(
    client: Client, galaxy: MLModel, tmp_path: Path, name: str, query: str
) -> None:
    schema = schema_at(f"{_SCHEMAS}/{name}.xsd")
    path = tmp_path / f"{name}.xml"
    path.write_bytes(get(client, query))
    run("datacite", "python", "-c", _SCHEMA_PROGRAM, str(path), str(schema))


def test_an_empty_hub_lists_its_own_pages(client: Client) -> None:
    assert texts(read(get(client)), f"{{{_SPACE}}}loc") == [f"{HUB}/sitemap.xml?part=0"]
    assert f"{HUB}/catalog" in pages(read(get(client, "?part=0")))


def test_parts_that_are_not_there_are_not_found(client: Client, galaxy: MLModel) -> None:
    for part in ("1", "-1", "", "x", "9" * 9, "9" * 30, "٣", "\0"):
        assert client.get("/sitemap.xml", {"part": part}).status_code == 404, part


def test_crawlers_are_welcome_and_led_to_the_map(client: Client) -> None:
    answer = client.get("/robots.txt")
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    rules = RobotFileParser()
    rules.parse(answer.content.decode().splitlines())
    assert rules.site_maps() == [f"{HUB}/sitemap.xml"]
    for path in ("/", "/lab/galaxy-cnn", "/models", "/oai?verb=Identify", "/ark:/99999/h2x"):
        assert rules.can_fetch("AnyBot", f"{HUB}{path}"), path
    assert "Disallow: /models?*" in answer.content.decode()
