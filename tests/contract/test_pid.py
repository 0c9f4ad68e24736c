"""Identifiers and DOIs from a live hub, a stand-in for DataCite between it and the client."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.errors import BadInput, NotFound, Withdrawn
from registry.selectors.fair.identifier import identifier_of, pid_url
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.states import IdentifierKind
from registry.tables import User
from tests.datacite import DataCite, datacite
from tests.factories import tiny_onnx
from workers import tasks

NAME = "alice/tiny"
CARD = {
    "license": "apache-2.0",
    "task": "image-classification",
    "authors": ["Alice Adams"],
    "description": "It counts the stars on photographs of the night sky, up to magnitude six.",
}
X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)


@pytest.fixture
def server(settings: Any) -> Iterator[DataCite]:
    with datacite() as found:
        for name, value in found.settings().items():
            setattr(settings, name, value)
        yield found


@pytest.fixture
def tiny(as_alice: Client, inspector: None) -> str:
    """A model that is inspected; its first revision with files."""
    return as_alice.save(tiny_onnx(), NAME, card=CARD).oid


def ark_of(name: str) -> str:
    """The ARK of the newest version."""
    identifier = identifier_of(revision_get(mlmodel_get(None, name)))
    assert identifier is not None
    return f"ark:/99999/{identifier.name}"


def test_an_identifier_loads_the_version_it_was_given_to(as_alice: Client, tiny: str) -> None:
    ark = ark_of(NAME)
    as_alice.save(tiny_onnx(scale=2), NAME)
    model = as_alice.load(ark, target=None)
    assert model.revision == tiny
    np.testing.assert_allclose(model(X), Y)
    concept = mlmodel_get(None, NAME).identifiers.get(kind=IdentifierKind.CONCEPT)
    np.testing.assert_allclose(as_alice.load(pid_url(concept.name), target=None)(X), Y * 4)


def test_a_doi_is_registered_and_loads_what_it_names(
    as_alice: Client, client_of: Callable[..., Client], tiny: str, server: DataCite
) -> None:
    job = as_alice.register_doi(NAME)
    tasks.doi()
    doi = job.refresh().result["doi"]
    stranger = client_of()
    config = dataclasses.replace(stranger.config, doi=server.url)
    with Client(config=config) as anywhere:
        model = anywhere.load(f"doi:{doi}", target=None)
        assert (model.name, model.revision) == (NAME, tiny)
        np.testing.assert_allclose(model(X), Y)
        with pytest.raises(NotFound):
            anywhere.load("doi:10.82433/nothing")


def test_what_was_withdrawn_says_so_by_its_identifier(
    as_alice: Client, tiny: str, alice: User
) -> None:
    ark = ark_of(NAME)
    mlmodel_delete(actor=alice, mlmodel=mlmodel_get(alice, NAME), reason="Wrong labels.")
    with pytest.raises(Withdrawn, match=r"alice/tiny, was withdrawn on .*Wrong labels\."):
        as_alice.load(ark)


def test_what_is_private_is_found_by_its_members_alone(
    as_alice: Client, client_of: Callable[..., Client], tiny: str, alice: User
) -> None:
    ark = ark_of(NAME)
    mlmodel_update(actor=alice, mlmodel=mlmodel_get(alice, NAME), visibility="private")
    np.testing.assert_allclose(as_alice.load(ark, target=None)(X), Y)
    with pytest.raises(NotFound) as refused:
        client_of().load(ark)
    assert refused.value.code == "identifier_not_found"


def test_others_identifiers_are_not_guessed_at(as_alice: Client) -> None:
    with pytest.raises(NotFound, match="n2t"):
        as_alice.load("ark:/12148/btv1b8449691v")
    with pytest.raises(BadInput):
        as_alice.load("https://example.org/lab/tiny")
