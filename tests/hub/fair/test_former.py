"""A name that was given up and used again: versions of the former holder are still found."""

import json

import pytest
from django.conf import settings
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_create, mlmodel_delete, mlmodel_move
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import MLModel, User
from tests.factories import make_mlmodel, readme

pytestmark = pytest.mark.django_db

ROOT = "/alice/net"
NEW = "/alice/moved"


@pytest.fixture
def moved(alice: User) -> MLModel:
    """``alice/moved``, formerly ``alice/net``, whose name another model has now."""
    first = make_mlmodel("alice/net", actor=alice, files={"README.md": readme("# First\n")})
    mlmodel_move(actor=alice, mlmodel=first, namespace="alice", name="moved")
    make_mlmodel("alice/net", actor=alice, files={"README.md": readme("# Second\n")})
    return first


def location(client: Client, path: str) -> str:
    answer = client.get(path)
    return answer["Location"] if answer.status_code == 302 else str(answer.status_code)


def test_addresses_of_versions_lead_to_the_repository_that_has_them(
    client: Client, moved: MLModel
) -> None:
    oid = revision_get(moved).oid
    for tail in (
        f"?revision={oid}",
        f"?revision={oid[:8]}",
        f"/tree/{oid}",
        f"/blob/{oid}/README.md",
        f"/commit/{oid}",
        f"/metadata/jsonld?revision={oid}",
        f"/linkset?revision={oid}",
        f"/crate?revision={oid}",
        f"/tests/{oid}/test_data_set_0/input_0.pb",
    ):
        assert location(client, ROOT + tail) == NEW + tail, tail
    assert location(client, ROOT) == "200"
    assert location(client, f"{ROOT}?revision=main") == "200"
    assert location(client, f"{ROOT}?revision={'0' * 40}") == "404"
    # As on the Hugging Face Hub, the protocol redirects only while a name is free.
    answer = client.get(f"{ROOT}/resolve/{oid}/README.md")
    assert (answer.status_code, answer["X-Error-Code"]) == (404, "RevisionNotFound")


def test_the_page_names_the_former_holder_to_those_who_may_read_it(
    client: Client, moved: MLModel
) -> None:
    page = client.get(ROOT).content.decode()
    assert "the name alice/net belonged to" in page
    assert f'<a href="{settings.HUB_URL}{NEW}">alice/moved</a>. Addresses of its versions' in page
    assert "belonged to" not in client.get(NEW).content.decode()
    MLModel.objects.filter(pk=moved.pk).update(visibility="private")
    assert "belonged to" not in client.get(ROOT).content.decode()


def test_a_former_name_of_a_deleted_repository_is_gone(
    client: Client, moved: MLModel, alice: User
) -> None:
    oid = revision_get(moved).oid
    mlmodel_move(actor=alice, mlmodel=moved, namespace="alice", name="last")
    concept = moved.identifiers.get(kind=IdentifierKind.CONCEPT)
    mlmodel_delete(actor=alice, mlmodel=moved, reason="Labels were wrong.")
    for path in (NEW, f"{NEW}?revision={oid}", f"{NEW}/tree/main", f"{ROOT}?revision={oid}"):
        answer = client.get(path)
        assert answer.status_code == 410, path
        assert "Labels were wrong." in answer.content.decode()
    record = client.get(f"{NEW}/metadata/jsonld?revision={oid}")
    assert json.loads(record.content)["creativeWorkStatus"] == "Withdrawn"
    assert client.get(f"{NEW}/resolve/main/README.md").status_code == 410
    page = client.get(ROOT).content.decode()
    assert f'/ark:/99999/{concept.name}">alice/last</a>, which was withdrawn' in page


def test_forks_and_data_sets_take_names_likewise(client: Client, alice: User) -> None:
    files = {"README.md": readme("# Stars\n")}
    data = make_mlmodel("alice/stars", actor=alice, kind=RepositoryKind.DATASET, files=files)
    oid = revision_get(data).oid
    mlmodel_move(actor=alice, mlmodel=data, namespace="alice", name="suns")
    other = mlmodel_create(
        actor=alice, namespace="alice", name="other", kind=RepositoryKind.DATASET
    )
    fork(actor=alice, source=other, namespace="alice", name="stars")
    path = f"/datasets/alice/stars?revision={oid}"
    assert location(client, path) == f"/datasets/alice/suns?revision={oid}"
    mlmodel_delete(actor=alice, mlmodel=data)
    assert location(client, path) == "410"
