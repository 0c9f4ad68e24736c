"""Identifiers lead to what they name, and tell of themselves."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_move
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, make_token

pytestmark = pytest.mark.django_db


def concept(mlmodel: MLModel) -> str:
    return str(mlmodel.identifiers.get(kind=IdentifierKind.CONCEPT).name)


def version(mlmodel: MLModel) -> str:
    return str(revision_get(mlmodel).identifiers.get().name)


def leads_to(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 302, answer.content[:300]
    return str(answer["Location"])


def test_both_forms_lead_to_the_page_on_the_host_that_was_asked(
    client: Client, galaxy: MLModel
) -> None:
    oid = revision_get(galaxy).oid
    for start in ("/ark:/99999/", "/ark:99999/", "/ARK:/99999/"):
        assert leads_to(client, f"{start}{concept(galaxy)}") == "/lab/galaxy-cnn"
        assert leads_to(client, f"{start}{version(galaxy)}") == f"/lab/galaxy-cnn?revision={oid}"
    name = version(galaxy)
    odd = f"/ark:/99999/{name[:4]}-{name[4:].upper()}/"
    assert leads_to(client, odd) == f"/lab/galaxy-cnn?revision={oid}"
    assert client.head(f"/ark:/99999/{name}").status_code == 302


def test_a_version_stays_where_it_is_and_the_whole_moves_on(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    first, oid = version(galaxy), revision_get(galaxy).oid
    commit_files(galaxy, {"a.txt": b"a"}, actor=charlie)
    mlmodel_move(actor=charlie, mlmodel=galaxy, namespace="charlie", name="stars")
    assert leads_to(client, f"/ark:/99999/{first}") == f"/charlie/stars?revision={oid}"
    assert leads_to(client, f"/ark:/99999/{concept(galaxy)}") == "/charlie/stars"


def test_the_page_answers_in_what_was_asked_for(client: Client, galaxy: MLModel) -> None:
    answer = client.get(
        f"/ark:/99999/{version(galaxy)}", headers={"Accept": "application/ld+json"}, follow=True
    )
    assert answer.status_code == 200
    record = answer.json()
    assert record["@id"] == f"{settings.HUB_URL}/ark:/99999/{version(galaxy)}"
    assert record["dct:isVersionOf"]["@id"] == f"{settings.HUB_URL}/ark:/99999/{concept(galaxy)}"


def test_data_sets_have_theirs(client: Client, alice: User) -> None:
    data = make_mlmodel("alice/stars", actor=alice, kind=RepositoryKind.DATASET)
    assert leads_to(client, f"/ark:/99999/{concept(data)}") == "/datasets/alice/stars"


def test_asked_about_itself_it_tells(client: Client, galaxy: MLModel) -> None:
    for query in ("info", "info=", "?"):
        answer = client.get(f"/ark:/99999/{version(galaxy)}?{query}")
        assert answer.status_code == 200, query
        assert answer["Content-Type"] == "text/plain; charset=utf-8", query
        text = answer.content.decode()
        assert text.startswith("erc:\nwho:    (:unav)\nwhat:   galaxy-cnn\n"), query
        assert f"where:  {settings.HUB_URL}/ark:/99999/{version(galaxy)}\n" in text, query
        assert "erc-support:" in text, query
        assert f"where:  {settings.HUB_URL}/policy\n" in text, query
        whole = client.get(f"/ark:/99999/{concept(galaxy)}?{query}").content.decode()
        assert f"where:  {settings.HUB_URL}/ark:/99999/{concept(galaxy)}\n" in whole, query


def test_what_is_none_is_a_page_that_says_so(client: Client, galaxy: MLModel) -> None:
    for text in (
        "99999/h2nothing",
        "/99999/",
        "/12148/h2abc",
        "x",
        "/99999/%00",
        "/99999/a/b/c",
        "/99999/resolve/main/x",
    ):
        answer = client.get(f"/ark:{text}")
        assert answer.status_code == 404, text
        assert "identifier_not_found" in answer.content.decode(), text
        assert client.get(f"/ark:{text}?info").status_code == 404, text


def test_private_ones_lead_members_alone(
    client: Client, secret: MLModel, charlie: User, alice: User
) -> None:
    path = f"/ark:/99999/{version(secret)}"
    for query in ("", "?info"):
        assert client.get(f"{path}{query}").status_code == 404
    client.force_login(alice)
    assert client.get(path).status_code == 404
    client.force_login(charlie)
    assert leads_to(client, path).startswith("/lab/secret?revision=")
    client.logout()
    bearer = f"Bearer {make_token(charlie)}"
    assert leads_to(client, path, Authorization=bearer).startswith("/lab/secret")
    assert client.get(path, headers={"Authorization": "Bearer hpf_no"}).status_code == 401


def test_it_is_asked_only(client: Client, galaxy: MLModel) -> None:
    for ask in (client.post, client.put, client.delete):
        answer: Any = ask(f"/ark:/99999/{version(galaxy)}")
        assert answer.status_code == 405
