"""What is expected of the addresses that a card names on this hub is what they answer."""

import pytest
from django.test import Client

from registry.fair.score.score import assess
from registry.selectors.fair.description import describe
from registry.selectors.fair.expectation import expected_of
from registry.selectors.fair.identifier import identifier_of, identifiers_of, pid_url
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move
from registry.states import RepositoryKind
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, readme

pytestmark = pytest.mark.django_db
HUB = "http://127.0.0.1:8000"
DATASET = RepositoryKind.DATASET


@pytest.fixture
def net(alice: User) -> MLModel:
    return make_mlmodel("alice/net", actor=alice, files={"README.md": readme()})


def concept_of(mlmodel: MLModel) -> str:
    found = identifiers_of(mlmodel).first()
    assert found is not None
    return pid_url(found.name)


def data_of(alice: User) -> dict[str, bool]:
    """Addresses that lead to data sets, or to nothing: whether a stranger finds them."""
    sky = make_mlmodel("alice/sky", actor=alice, kind=DATASET, files={"README.md": readme()})
    hidden = make_mlmodel("alice/hidden", actor=alice, kind=DATASET, visibility="private")
    moved = make_mlmodel("alice/old", actor=alice, kind=DATASET)
    mlmodel_move(actor=alice, mlmodel=moved, namespace="alice", name="new")
    gone = make_mlmodel("alice/gone", actor=alice, kind=DATASET, files={"README.md": readme()})
    first, left = revision_get(gone).oid, concept_of(gone)
    mlmodel_delete(actor=alice, mlmodel=gone, reason="Wrong.")
    version = identifier_of(revision_get(sky))
    assert version is not None
    return {
        f"{HUB}/datasets/alice/sky": True,
        f"{HUB}/datasets/alice/sky?revision={revision_get(sky).oid}": True,
        f"{HUB}/datasets/alice/gone?revision={'0' * 40}": False,
        f"{HUB}/datasets/alice/sky/tree/main": True,
        f"{HUB}/datasets/alice/old": True,
        f"{HUB}/datasets/alice/gone?revision={first}": True,
        f"{HUB}/datasets/alice/hidden": False,
        f"{HUB}/datasets/alice/nothing": False,
        f"{HUB}/alice/sky": False,
        pid_url(version.name): True,
        concept_of(sky): True,
        left: True,
        concept_of(hidden): False,
        f"{HUB}/ark:/99999/h2nothing": False,
    }


def test_own_addresses_are_expected_to_answer_as_they_do(
    client: Client, net: MLModel, alice: User
) -> None:
    data = data_of(alice)
    commit_files(net, {"README.md": readme(datasets=list(data))}, actor=alice)
    sources = expected_of(describe(revision_get(net))).sources
    for source in sources:
        answer = client.get(source.url.removeprefix(HUB), follow=True)
        assert source.status == answer.status_code, source.url
    dead = {one.url for one in sources if not one.is_ok and one.status != 410}
    assert dead == {url for url, is_ok in data.items() if not is_ok}
    assert len(sources) > len(dead) + 4


def test_no_point_is_promised_for_data_that_are_not_there(net: MLModel, alice: User) -> None:
    def points(url: str) -> float:
        commit_files(net, {"README.md": readme(datasets=[url])}, actor=alice)
        score = assess(expected_of(describe(revision_get(net))))
        return next(found.points for metric, found in score.results if metric.id == "HUB-R-06")

    make_mlmodel("alice/sky", actor=alice, kind=DATASET)
    assert points(f"{HUB}/datasets/alice/sky") == 1
    assert points(f"{HUB}/datasets/alice/sty") == 0
    # Nobody asks other hosts.
    assert points("https://elsewhere.example/sty") == 1
