import socket
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.fair.description import Description
from registry.fair.linked.jsonld import document
from registry.fair.score.reading import HUB, PROV, SCHEMA, Reading, is_url
from tests.registry.fair.samples import EVERY, MOST, PID

every = pytest.mark.parametrize("description", EVERY.values(), ids=EVERY.keys())
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["@id", "@type", "@context", "@graph", "@list", "name", "x:y"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@every
def test_a_stranger_reads_what_was_described(description: Description) -> None:
    read = Reading(document(description), cite_as=description.pid)
    assert read.fault == ""
    assert str(read.subject) == description.pid
    assert read.texts(SCHEMA.name) == [description.title]
    assert {description.pid, description.landing, description.swhid} <= set(read.identifiers)
    assert read.urls(SCHEMA.license) == (
        sorted(description.license.uris) if description.license else []
    )
    assert [(c.url, c.size_bytes, c.sha256, c.media_type) for c in read.claims] == sorted(
        (file.url, file.size_bytes, file.sha256, file.media_type)
        for file in description.files
        if file.is_available
    )


def test_the_subject_is_the_outermost_node_where_the_header_cites_nothing() -> None:
    assert str(Reading(document(MOST)).subject) == PID
    assert str(Reading(document(MOST), cite_as="https://example.org/other").subject) == PID


def test_vocabularies_are_those_of_properties_and_classes() -> None:
    found = Reading(document(MOST)).vocabularies
    assert {"http://schema.org", str(PROV)[:-1], str(HUB)[:-1]} <= found


@pytest.mark.parametrize(
    "context",
    [
        "https://schema.org",
        ["https://schema.org", {"a": "http://example.org/a"}],
        {"@import": "https://example.org/context.jsonld"},
        {"a": {"@id": "http://example.org/a", "@context": "https://example.org/inner"}},
    ],
)
def test_a_context_elsewhere_is_not_fetched(context: Any) -> None:
    read = Reading({"@context": context, "@id": PID, "name": "x"})
    assert "not in the document" in read.fault
    assert len(read.graph) == 0
    assert read.subject is None


def test_a_page_without_metadata_says_so() -> None:
    read = Reading(None)
    assert read.fault == "The page has no JSON-LD."
    assert read.identifiers == []
    assert read.claims == []


@settings(max_examples=50)
@given(json_values)
def test_any_json_is_read_or_refused_with_a_reason(value: Any) -> None:
    read = Reading(value)
    assert read.fault or read.subject is None or (read.subject, None, None) in read.graph
    assert isinstance(read.identifiers, list)
    assert isinstance(read.claims, list)


@pytest.mark.parametrize("text", ["http://a.example", "https://a.example/b?c=d#e"])
def test_addresses_of_the_web_are_told_from_others(text: str) -> None:
    assert is_url(text)
    assert not is_url(f"{text} ")
    assert not is_url(text.replace("http", "ftp"))
    assert not is_url(f"see {text}")
