import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph, URIRef

from registry.fair.iris import iri


@pytest.mark.parametrize(
    "address",
    [
        "https://hub.example.org/ark:/99999/h2x7k4q9m",
        "https://hub.example.org/lab/m?revision=5f1c&x=a%20b#top",
        "http://[::1]:8000/lab",
        "https://doi.org/10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O".replace(
            "<", "%3C"
        ).replace(">", "%3E"),
        "swh:1:dir:0f1e2d3c4b5a69788796a5b4c3d2e1f001234567",
        "urn:uuid:0b8f2a34-5a91-4c1c-8b2f-0d6f3f1f7a11",
    ],
)
def test_a_uri_stays_as_it_is(address: str) -> None:
    assert iri(address) == address


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "lab/galaxies",
        "//example.org/x",
        "https://",
        "https://example.org:port/",
        "http://[::1",
        "https://user:secret@example.org/",
        "javascript:alert(1)",
        "data:text/html,<script>",
        "schema:name",
        "_:node",
    ],
)
def test_what_is_no_address_is_none(text: str | None) -> None:
    assert iri(text) is None


def test_what_may_not_stand_in_a_uri_is_encoded() -> None:
    assert iri('https://example.org/a b/<c>"{é}?q=|#x#y') == (
        "https://example.org/a%20b/%3Cc%3E%22%7B%C3%A9%7D?q=%7C#x%23y"
    )
    assert iri("https://example.org/100%") == "https://example.org/100%25"


@given(st.text())
def test_any_address_can_be_written_as_turtle(text: str) -> None:
    address = iri(f"https://example.org/{text}")
    assert address is not None
    node = URIRef(address)
    written = Graph().add((node, node, node)).serialize(format="turtle")
    assert set(Graph().parse(data=written, format="turtle")) == {(node, node, node)}


@given(st.text())
def test_an_address_is_its_own_address(text: str) -> None:
    found = iri(text)
    assert found is None or iri(found) == found
