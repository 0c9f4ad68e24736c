"""Of what was withdrawn the record is served, at its identifier and where it was."""

import json
import re
from dataclasses import replace

import pytest
from django.conf import settings
from django.test import Client

from registry.fair.formats import formats_of
from registry.selectors.fair.identifier import restore
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.storage.prune import revisions_prune
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, Job, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme

pytestmark = pytest.mark.django_db

ROOT = "/lab/galaxy-cnn"
REASON = "Labels were <b>wrong</b>."
_EMBEDDED = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.DOTALL)


@pytest.fixture
def gone(galaxy: MLModel, charlie: User) -> tuple[Identifier, Identifier]:
    """``lab/galaxy-cnn`` was there: the identifiers of the whole and of its newest version."""
    whole = galaxy.identifiers.get(kind=IdentifierKind.CONCEPT)
    newest = commit_files(galaxy, {"notes.txt": "new\n"}, actor=charlie).identifiers.get()
    mlmodel_delete(actor=charlie, mlmodel=galaxy, reason=REASON)
    return whole, newest


def at(row: Identifier) -> str:
    return f"/ark:/99999/{row.name}"


def follow(client: Client, path: str, accept: str = "*/*") -> tuple[int, str]:
    """Status and body of what an address leads to."""
    answer = client.get(path, headers={"Accept": accept}, follow=True)
    return answer.status_code, answer.content.decode()


def test_the_identifier_leads_to_where_it_was_and_there_the_record_is(
    client: Client, gone: tuple[Identifier, Identifier]
) -> None:
    whole, newest = gone
    assert client.get(at(whole))["Location"] == ROOT
    assert client.get(at(newest))["Location"] == f"{ROOT}?revision={newest.oid}"
    for row in gone:
        status, page = follow(client, at(row))
        assert status == 410
        assert "was withdrawn on" in page
        assert "Labels were &lt;b&gt;wrong&lt;/b&gt;." in page
        assert f"{settings.HUB_URL}{at(row)}" in page
        assert "model.onnx" in page
    assert "This version" in page
    assert "This model" in follow(client, ROOT)[1]


def test_the_page_holds_the_record_and_its_links(
    client: Client, gone: tuple[Identifier, Identifier]
) -> None:
    _, newest = gone
    answer = client.get(f"{ROOT}?revision={newest.oid}")
    found = _EMBEDDED.search(answer.content.decode())
    assert found is not None
    record = json.loads(found[1])
    assert record["@id"] == f"{settings.HUB_URL}{at(newest)}"
    assert record["creativeWorkStatus"] == "Withdrawn"
    assert record["hub:withdrawalReason"] == REASON
    assert 'rel="cite-as"' in answer["Link"]
    assert 'rel="describedby"' in answer["Link"]
    assert "Accept" in answer["Vary"]


def test_every_form_of_the_record_is_served(
    client: Client, gone: tuple[Identifier, Identifier]
) -> None:
    _, newest = gone
    newest.refresh_from_db()
    for form in formats_of("model"):
        record = form.render(replace(restore(newest.description or {}), is_at_name=True))
        served = client.get(f"{ROOT}/metadata/{form.name}?revision={newest.oid}")
        assert served.status_code == 200, form.name
        assert served["Content-Type"].startswith(form.media_type), form.name
        assert served.content == record, form.name
        if form.is_negotiated:
            accept = {"Accept": form.media_type}
            negotiated = client.get(f"{ROOT}?revision={newest.oid}", headers=accept)
            assert negotiated.status_code == 410, form.name
            assert negotiated.content == record, form.name


def anchors(client: Client, oid: str) -> set[str]:
    """The pages that the link set of a version holds."""
    contexts = json.loads(client.get(f"{ROOT}/linkset?revision={oid}").content)["linkset"]
    return {one["anchor"] for one in contexts if "describedby" in one}


def test_the_link_set_has_the_plain_page_until_another_takes_the_name(
    client: Client, gone: tuple[Identifier, Identifier], charlie: User
) -> None:
    _, newest = gone
    plain, own = (f"{settings.HUB_URL}{ROOT}{tail}" for tail in ("", f"?revision={newest.oid}"))
    assert anchors(client, newest.oid) == {plain, own}
    way_back = client.get(f"{ROOT}/metadata/jsonld?revision={newest.oid}")["Link"]
    assert f'<{plain}>; rel="describes"' in way_back
    older = Identifier.objects.filter(kind=IdentifierKind.VERSION).exclude(pk=newest.pk).get()
    assert anchors(client, older.oid) == {f"{settings.HUB_URL}{ROOT}?revision={older.oid}"}
    make_mlmodel("lab/galaxy-cnn", actor=charlie, files={"README.md": readme("# Another\n")})
    assert anchors(client, newest.oid) == {own}


def test_it_tells_of_itself(client: Client, gone: tuple[Identifier, Identifier]) -> None:
    for row in gone:
        answer = client.get(f"{at(row)}?info")
        assert answer.status_code == 200
        assert f"({REASON}): the record is kept" in answer.content.decode()


def test_every_page_below_the_old_address_is_gone(
    client: Client, gone: tuple[Identifier, Identifier]
) -> None:
    for tail in ("/tree/main", "/builds", "/history", "/discussions"):
        assert client.get(f"{ROOT}{tail}").status_code == 410
    assert client.post(f"{ROOT}/like", {"liked": "yes"}).status_code == 404
    assert client.get(f"{ROOT}?revision={'0' * 40}").status_code == 404


def test_files_that_the_record_names_are_gone_in_words_that_clients_know(
    client: Client, gone: tuple[Identifier, Identifier], charlie: User
) -> None:
    whole, newest = gone
    for rev, told in (("main", whole), (newest.oid, newest)):
        answer = client.get(f"{ROOT}/resolve/{rev}/model.onnx")
        assert (answer.status_code, answer["X-Error-Code"]) == (410, "RepoNotFound")
        assert at(told) in answer["X-Error-Message"]
    assert client.get(f"{ROOT}/resolve/{'0' * 40}/model.onnx").status_code == 404
    make_mlmodel("lab/galaxy-cnn", actor=charlie, files={"README.md": readme("# Another\n")})
    answer = client.get(f"{ROOT}/resolve/{newest.oid}/model.onnx")
    assert (answer.status_code, answer["X-Error-Code"]) == (410, "RevisionNotFound")


def test_what_has_come_to_the_name_since_is_not_what_was_cited(
    client: Client, gone: tuple[Identifier, Identifier], charlie: User
) -> None:
    _, newest = gone
    make_mlmodel("lab/galaxy-cnn", actor=charlie, files={"README.md": readme("# Another\n")})
    assert client.get(ROOT).status_code == 200
    for row in gone:
        answer = client.get(at(row))
        assert answer.status_code == 410, "no redirect: something else is there"
        assert "was withdrawn on" in answer.content.decode()
        status, text = follow(client, at(row), "application/ld+json")
        assert (status, json.loads(text)["creativeWorkStatus"]) == (410, "Withdrawn")
    assert client.get(f"{ROOT}?revision={newest.oid}").status_code == 410
    assert client.get(f"{ROOT}/metadata/jsonld?revision={newest.oid}").status_code == 200


def test_a_version_that_was_swept_up_is_told_beside_the_others(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    row = revision_get(galaxy).identifiers.get()
    Job.objects.all().delete()
    galaxy.refs.update(revision=galaxy.revisions.earliest("pk"))
    Revision.objects.update(created_at="2020-01-01T00:00:00Z", is_stray=True)
    assert revisions_prune(before=row.minted_at) == 1
    assert client.get(at(row))["Location"] == f"{ROOT}?revision={row.oid}"
    status, page = follow(client, at(row))
    assert status == 410
    assert "No branch, tag or pull request led to it" in page
    assert "Other versions" in page
    assert client.get(ROOT).status_code == 200


def test_nothing_is_told_of_what_was_private(
    client: Client, secret: MLModel, charlie: User
) -> None:
    rows = list(secret.identifiers.all())
    mlmodel_delete(actor=charlie, mlmodel=secret, reason="hush")
    client.force_login(charlie)
    for path in ("/lab/secret", *(at(row) for row in rows)):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "hush" not in answer.content.decode()


def test_a_data_set_is_told_where_it_was(client: Client, alice: User) -> None:
    data = make_mlmodel("alice/stars", actor=alice, kind=RepositoryKind.DATASET)
    row = data.identifiers.get(kind=IdentifierKind.CONCEPT)
    mlmodel_delete(actor=alice, mlmodel=data)
    assert client.get(at(row))["Location"] == "/datasets/alice/stars"
    status, page = follow(client, at(row))
    assert status == 410
    assert "No reason was given" in page
    assert client.get("/alice/stars").status_code == 404


def test_an_owner_says_why_in_the_settings(client: Client, galaxy: MLModel, charlie: User) -> None:
    client.force_login(charlie)
    form = {"reason": "Superseded.", "confirm": "galaxy"}
    page = client.post(f"{ROOT}/settings/delete", form)
    assert page.status_code == 400
    assert ">Superseded.</textarea>" in page.content.decode()
    too_long = {"reason": "x" * 2001, "confirm": "lab/galaxy-cnn"}
    assert client.post(f"{ROOT}/settings/delete", too_long).status_code == 400
    assert MLModel.objects.exists()
    client.post(f"{ROOT}/settings/delete", form | {"confirm": "lab/galaxy-cnn"})
    client.logout()
    assert "Superseded." in follow(client, ROOT)[1]
