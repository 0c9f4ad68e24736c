import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import DCAT, DCTERMS, RDF, XSD, Graph, Literal, Namespace, URIRef

from registry.fair.linked.dcat import CatalogPage, document, render_jsonld, render_turtle, summary
from tests.registry.fair.samples import DATASET, EVERY, HUB, LEAST, MOST, PID

SPDX = Namespace("http://spdx.org/rdf/terms#")
HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")
PAGE = CatalogPage(
    url=f"{HUB.url}/catalog?page=1",
    total=120,
    first=f"{HUB.url}/catalog?page=1",
    last=f"{HUB.url}/catalog?page=2",
    next=f"{HUB.url}/catalog?page=2",
)
CATALOGUE = URIRef(f"{HUB.url}/catalog")


def read(*descriptions: object) -> Graph:
    summaries = [summary(one) for one in descriptions]  # type: ignore[arg-type]
    return Graph().parse(data=render_turtle(HUB, summaries, PAGE), format="turtle")


def test_the_catalogue_has_each_record_with_its_landing_page() -> None:
    found = read(MOST, replace(DATASET, pid="https://hub.example.org/ark:/99999/h2z"))
    listed = {str(one) for one in found.objects(CATALOGUE, DCAT.dataset)}
    assert listed == {PID, "https://hub.example.org/ark:/99999/h2z"}
    assert found.value(URIRef(PID), DCAT.landingPage) == URIRef(MOST.landing)
    assert found.value(URIRef(PID), DCTERMS.title) == Literal(MOST.title)


def test_each_distribution_has_size_type_and_checksum() -> None:
    found = read(MOST)
    distributions = list(found.objects(URIRef(PID), DCAT.distribution))
    assert len(distributions) == len(MOST.files)
    for file in MOST.files:
        node = URIRef(file.url)
        assert found.value(node, DCAT.downloadURL) == node
        assert found.value(node, DCAT.byteSize) == Literal(
            file.size_bytes, datatype=XSD.nonNegativeInteger
        )
        assert str(found.value(node, DCAT.mediaType)).endswith(file.media_type)
        checksum = found.value(node, SPDX.checksum)
        assert found.value(checksum, SPDX.algorithm) == SPDX.checksumAlgorithm_sha256
        assert (
            str(found.value(checksum, SPDX.checksumValue)) == file.sha256
            or found.value(checksum, SPDX.checksumValue).toPython().hex() == file.sha256  # type: ignore[union-attr]
        )


def test_what_is_absent_stays_absent() -> None:
    found = read(LEAST)
    node = URIRef(PID)
    assert (node, RDF.type, DCAT.Dataset) in found
    for word in (DCTERMS.description, DCTERMS.license, DCTERMS.creator, DCAT.keyword):
        assert (node, word, None) not in found


def test_pages_lead_to_each_other() -> None:
    found = read()
    view = found.value(CATALOGUE, HYDRA.view)
    assert view == URIRef(PAGE.url)
    assert found.value(CATALOGUE, HYDRA.totalItems) == Literal(120)
    assert str(found.value(view, HYDRA["next"])) == PAGE.next
    assert found.value(view, HYDRA.previous) is None


def test_both_forms_come_from_one_document() -> None:
    summaries = [summary(one) for one in EVERY.values()]
    assert json.loads(render_jsonld(HUB, summaries, PAGE)) == document(HUB, summaries, PAGE)
    assert render_turtle(HUB, summaries, PAGE) == render_turtle(HUB, summaries, PAGE)


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1))
def test_texts_of_strangers_come_through(text: str) -> None:
    found = read(replace(LEAST, title=text))
    assert found.value(URIRef(PID), DCTERMS.title) == Literal(text)
