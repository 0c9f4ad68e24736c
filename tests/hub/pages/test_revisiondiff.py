"""The page that compares two revisions of a model."""

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel, Topology, User
from tests.factories import make_user
from tests.hub.pages.revisions import two_revisions

pytestmark = pytest.mark.django_db


@pytest.fixture
def digits(alice: User, db: None) -> MLModel:
    return two_revisions(alice)


def get(client: Client, query: str = "", status: int = 200) -> str:
    answer = client.get(f"/alice/digits/compare{query}")
    assert answer.status_code == status
    return answer.content.decode()


def test_the_newest_revision_is_compared_with_the_one_before(
    client: Client, digits: MLModel
) -> None:
    text = get(client)
    assert "2 times as fast" in text
    assert "1 added, 0 removed, 1 changed; 3 matched" in text
    assert "Sigmoid" in text
    assert "<strong>4,000</strong>" in text
    assert "−40.0 µs" in text
    assert "+5.00 µs" in text


def test_the_other_way_round_the_node_was_removed(client: Client, digits: MLModel) -> None:
    after = revision_get(digits)
    assert after.parent is not None
    text = get(client, f"?from={after.oid}&to={after.parent.oid}")
    assert "0 added, 1 removed" in text
    assert "2 times as slow" in text
    assert "removed nodes 2" in text


def test_unknown_revisions_are_refused(client: Client, digits: MLModel) -> None:
    get(client, "?from=nowhere", status=404)


def test_the_first_revision_has_nothing_before_it(client: Client, digits: MLModel) -> None:
    revision = revision_get(digits)
    while revision.parent is not None:
        revision = revision.parent
    assert "This is the first revision" in get(client, f"?to={revision.oid}")


def test_without_topologies_nodes_are_not_compared(client: Client, digits: MLModel) -> None:
    Topology.objects.all().delete()
    text = get(client)
    assert "Nodes are not compared" in text
    assert "2 times as fast" in text


def test_nodes_of_restricted_files_are_not_shown(client: Client, digits: MLModel) -> None:
    MLModel.objects.update(gate="manual")
    client.force_login(make_user("stranger"))
    text = get(client)
    assert "Nodes are not compared: The files are restricted." in text
    assert "Sigmoid" not in text


def test_hidden_models_have_no_such_page(client: Client, digits: MLModel) -> None:
    MLModel.objects.update(visibility="private")
    get(client, status=404)
