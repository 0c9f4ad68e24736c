"""The record of a withdrawn version states what was there and offers nothing that is not."""

import json
import re
from dataclasses import replace

import pytest

from registry.fair import freeze
from registry.fair.description import Description
from registry.fair.formats import FORMATS, Format, formats_of
from registry.fair.parts import METADATA_LICENSE
from registry.fair.signposting import render_linkset, render_linkset_text
from registry.fair.withdrawal import withdrawn
from tests.registry.fair.samples import DATASET, MOST, WITHDRAWN, file_of

GONE = {
    "model": WITHDRAWN,
    "dataset": withdrawn(
        replace(DATASET, files=(file_of("a.csv", "text/csv", "other"),)), WITHDRAWN.withdrawal
    ),
}
# Properties that lead to bytes or pages, in any of the formats.
_OFFERS = re.compile(
    r'"(?:contentUrl|downloadLocation|software_downloadLocation|software_homePage|downloadURL|url)"'
    r':\s*"([^"]*)"'
)
# CycloneDX names what an activity used by its address; that is no offer.
_NAMES = re.compile(r'"externalReference":\s*\{\s*"type":\s*"other",\s*"url":\s*"[^"]*"')


def deleted(description: Description) -> set[str]:
    """Addresses that answer 410 or 404 once ``description`` is withdrawn."""
    files = (*description.files, *description.tests)
    urls = {file.url for file in files} | {description.crate_url}
    for build in description.builds:
        urls |= {build.url, build.benchmark.url, *(file.url for file in build.files)}
        urls |= {f"{description.hub.url}/api/v1/records/{build.benchmark.id}"}
    return urls


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.name)
@pytest.mark.parametrize("kind", GONE)
def test_no_format_offers_what_was_deleted(kind: str, format_: Format) -> None:
    description = GONE[kind]
    if format_ not in formats_of(description.kind):
        pytest.skip("not a format of this kind")
    text = format_.render(description).decode()
    offered = set(_OFFERS.findall(_NAMES.sub("", text)))
    assert offered.isdisjoint(deleted(description)), offered & deleted(description)
    assert description.crate_url not in text
    assert "/measurements/" not in text
    assert "import hpcfair" not in text
    assert "snapshot_download" not in text
    assert "fairScore" not in text


@pytest.mark.parametrize("kind", GONE)
def test_no_link_leads_to_what_was_deleted(kind: str) -> None:
    for text in (render_linkset(GONE[kind]), render_linkset_text(GONE[kind])):
        assert not [url for url in deleted(GONE[kind]) if url in text.decode()]


@pytest.mark.parametrize("name", ["jsonld", "turtle", "rocrate", "croissant", "cyclonedx"])
def test_records_state_their_own_licence(name: str) -> None:
    format_ = next(one for one in FORMATS if one.name == name)
    for description in (MOST, WITHDRAWN):
        assert METADATA_LICENSE in format_.render(description).decode()


def test_files_stay_described() -> None:
    record = json.loads(next(one for one in FORMATS if one.name == "jsonld").render(WITHDRAWN))
    remaining = {one["name"]: (one["contentSize"], one["sha256"]) for one in record["distribution"]}
    assert remaining == {one.path: (str(one.size_bytes), one.sha256) for one in MOST.files}
    assert len(record["hub:hasBuild"]) == len(MOST.builds) > 0


def test_records_that_were_stored_with_offers_lose_them() -> None:
    """As :func:`registry.selectors.fair.identifier.restore` reads them."""
    stored = freeze.load(
        freeze.dump(replace(MOST, status="withdrawn", withdrawal=WITHDRAWN.withdrawal))
    )
    assert withdrawn(stored, stored.withdrawal) == WITHDRAWN
    assert withdrawn(WITHDRAWN, WITHDRAWN.withdrawal) == WITHDRAWN
