"""Atom feeds of changes, as readers meet them: page by page, over a hub that changes."""

from datetime import datetime, timedelta
from xml.etree.ElementTree import Element

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from hub.fair import feeds
from registry.selectors.fair.identifier import pid_url
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.states import IdentifierKind, RefKind, Visibility
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.fair.records import ORCID, make_data_record, make_record
from tests.registry.fair.xml import read

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"
ATOM = "{http://www.w3.org/2005/Atom}"


def get(client: Client, address: str = "/feeds/changes") -> HttpResponse:
    answer = client.get(address.removeprefix(HUB))
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200, answer.content[:300]
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    return answer


def feed(client: Client, address: str = "/feeds/changes") -> Element:
    root = read(get(client, address).content)
    check(root)
    return root


def check(root: Element) -> None:
    """What RFC 4287 requires: sections 4.1.1, 4.1.2 and 3.3."""
    assert root.tag == f"{ATOM}feed"
    for node in (root, *entries(root)):
        for tag in ("id", "title", "updated"):
            assert len(node.findall(f"{ATOM}{tag}")) == 1, tag
        for tag in ("updated", "published"):
            for text in node.findall(f"{ATOM}{tag}"):
                assert datetime.fromisoformat(text.text or "").tzinfo is not None
        targets = [(one.get("type"), one.get("rel")) for one in node.findall(f"{ATOM}link")]
        assert len(targets) == len(set(targets))
        assert ("text/html", "alternate") in targets
        for person in node.findall(f"{ATOM}author"):
            assert person.findtext(f"{ATOM}name")
    assert root.find(f"{ATOM}author") is not None
    ids = [one.findtext(f"{ATOM}id") for one in entries(root)]
    assert len(ids) == len(set(ids))


def entries(root: Element) -> list[Element]:
    return root.findall(f"{ATOM}entry")


def titles(root: Element) -> list[str]:
    return [one.findtext(f"{ATOM}title") or "" for one in entries(root)]


def links(node: Element) -> dict[str, str]:
    """Relation, with the type of an alternate, to the address."""
    return {
        f"{one.get('rel')} {one.get('type') if one.get('rel') == 'alternate' else ''}".strip(): (
            one.get("href") or ""
        )
        for one in node.findall(f"{ATOM}link")
    }


def terms(node: Element) -> set[str]:
    return {one.get("term") or "" for one in node.findall(f"{ATOM}category")}


def pid_of(mlmodel: MLModel) -> str:
    return pid_url(mlmodel.identifiers.get(kind=IdentifierKind.CONCEPT).name)


def test_what_changed_last_comes_first_with_its_people_and_its_record(
    client: Client, charlie: User, lab: object, secret: MLModel
) -> None:
    record, data = make_record(charlie), make_data_record(charlie)
    client.force_login(charlie)
    root = feed(client)
    first, second = entries(root)
    assert first.findtext(f"{ATOM}id") == pid_of(data)
    assert second.findtext(f"{ATOM}id") == pid_of(record)
    assert terms(first) == {"dataset"}
    assert terms(second) == {"model", "galaxy", "morphology"}
    assert second.findtext(f"{ATOM}title") == "Galaxy CNN: morphology"
    # The feed's author is the hub; an entry without known creators invents none.
    assert first.find(f"{ATOM}author") is None
    people = [one.findtext(f"{ATOM}name") for one in second.findall(f"{ATOM}author")]
    assert people == ["Josiah Carberry", "Ada Beispiel"]
    assert second.findtext(f"{ATOM}author/{ATOM}uri") == ORCID
    assert second.findtext(f"{ATOM}updated") == record.updated_at.isoformat()
    assert links(second)["alternate text/html"] == f"{HUB}/lab/galaxy-net"
    jsonld = client.get(links(second)["alternate application/ld+json"].removeprefix(HUB))
    assert jsonld.json()["@id"] == pid_url(revision_get(record).identifiers.get().name)

    commit_files(record, {"notes.txt": "new"}, actor=charlie)
    assert titles(feed(client))[0] == "Galaxy CNN: morphology"
    # Those of the newest repositories stay in their order.
    assert titles(feed(client, "/feeds/new"))[1] == "Galaxy CNN: morphology"


def test_withdrawn_records_say_so_and_hidden_ones_are_left_out(
    client: Client, charlie: User, lab: object
) -> None:
    record, hidden = make_record(charlie), make_mlmodel("lab/hidden", actor=charlie)
    pid = pid_of(record)
    mlmodel_update(actor=charlie, mlmodel=hidden, visibility=Visibility.PRIVATE)
    mlmodel_delete(actor=charlie, mlmodel=record, reason="Wrong labels.")
    for address in ("/feeds/changes", "/feeds/by/lab"):
        (entry,) = entries(feed(client, address))
        assert entry.findtext(f"{ATOM}id") == pid
        assert entry.findtext(f"{ATOM}title") == "Galaxy CNN: morphology (withdrawn)"
        assert "withdrawn" in terms(entry)
        assert "Wrong labels." in (entry.findtext(f"{ATOM}summary") or "")
    assert not entries(feed(client, "/feeds/new"))
    assert client.get("/lab/galaxy-net/feed").status_code == 410
    assert client.get("/lab/hidden/feed").status_code == 404
    client.force_login(charlie)
    assert client.get("/lab/hidden/feed").status_code == 404


def test_a_namespace_has_a_feed_of_its_own(client: Client, galaxy: MLModel, charlie: User) -> None:
    make_mlmodel("charlie/toy", actor=charlie)
    root = feed(client, "/feeds/by/LAB")
    assert [links(one)["alternate text/html"] for one in entries(root)] == [f"{HUB}/lab/galaxy-cnn"]
    assert links(root)["alternate text/html"] == f"{HUB}/lab"
    assert client.get("/feeds/by/nobody").status_code == 404


def test_the_versions_of_a_repository_have_a_feed(
    client: Client, charlie: User, lab: object
) -> None:
    data = make_data_record(charlie)
    newest = commit_files(data, {"more.csv": "1\n"}, actor=charlie, message="Add more")
    ref_create(actor=charlie, mlmodel=data, kind=RefKind.BRANCH, name="other", revision=newest)
    commit_files(data, {"x.csv": "1\n"}, actor=charlie, branch="other")
    root = feed(client, "/datasets/lab/galaxies/feed")
    oids = [links(one)["alternate text/html"].rpartition("=")[2] for one in entries(root)]
    assert oids[0] == newest.oid
    # The empty first commit is no version, nor is that of another branch until it has a tag.
    assert len(oids) == data.revisions.count() - 2
    assert entries(root)[0].findtext(f"{ATOM}summary") == "Add more"
    assert entries(root)[0].findtext(f"{ATOM}id") == pid_url(newest.identifiers.get().name)

    other = revision_get(data, "other")
    ref_create(actor=charlie, mlmodel=data, kind=RefKind.TAG, name="v2", revision=other)
    tagged = [
        title for title in titles(feed(client, "/datasets/lab/galaxies/feed")) if "v2" in title
    ]
    assert len(tagged) == 1


def test_the_pages_of_a_feed_hold_every_entry_once(
    client: Client, charlie: User, lab: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "AT_ONCE", 2)
    made = [make_mlmodel(f"lab/m{number}", actor=charlie) for number in range(6)]
    expected = [pid_of(one) for one in reversed(made)]
    mlmodel_delete(actor=charlie, mlmodel=made[0])
    mlmodel_delete(actor=charlie, mlmodel=made[3])
    # Of equal times, none is lost between two pages.
    MLModel.objects.update(updated_at=timezone.now() - timedelta(days=1))
    listed, address = [], f"{HUB}/feeds/changes"
    while address:
        root = feed(client, address)
        actual = links(root)
        assert actual["self"] == address
        assert actual["first"] == root.findtext(f"{ATOM}id") == f"{HUB}/feeds/changes"
        listed += [one.findtext(f"{ATOM}id") for one in entries(root)]
        address = actual.get("next", "")
    gone = [expected[2], expected[5]]
    assert listed == [*gone, *(one for one in expected if one not in gone)]


def test_cursors_of_other_feeds_are_refused(
    client: Client, charlie: User, lab: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "AT_ONCE", 1)
    for number in range(2):
        make_mlmodel(f"lab/m{number}", actor=charlie)
    query = links(feed(client))["next"].partition("?")[2]
    assert client.get(f"/feeds/changes?{query}").status_code == 200
    assert client.get(f"/feeds/new?{query}").status_code == 400
    assert client.get("/feeds/changes?cursor=x").status_code == 400


@pytest.mark.parametrize("address", ["/feeds/changes", "/feeds/by/lab", "/lab/galaxy-cnn/feed"])
def test_readers_fetch_a_feed_again_only_after_a_change(
    client: Client, galaxy: MLModel, charlie: User, address: str
) -> None:
    MLModel.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    answer = get(client, address)
    for name, value in (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")):
        assert client.get(address, headers={value: answer[name]}).status_code == 304
    assert client.head(address)["ETag"] == answer["ETag"]
    commit_files(galaxy, {"notes.txt": "new"}, actor=charlie)
    for name, value in (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since")):
        assert client.get(address, headers={value: answer[name]}).status_code == 200


def test_hostile_cards_stay_text(client: Client, charlie: User, lab: object) -> None:
    title = "]]><script>alert(1)</script> & so on"
    files = {"README.md": readme("# X\n", model_name=title, tags=['"><x>'])}
    make_mlmodel("lab/hostile", actor=charlie, files=files)
    (entry,) = entries(feed(client))
    assert "<script>" in (entry.findtext(f"{ATOM}title") or "")
    assert entry.find(".//script") is None


def test_pages_announce_their_feeds(
    client: Client, galaxy: MLModel, secret: MLModel, charlie: User
) -> None:
    def announced(address: str) -> list[str]:
        page = client.get(address).content.decode()
        parts = page.split('<link rel="alternate" type="application/atom+xml"')[1:]
        actual = [part.partition('href="')[2].partition('"')[0] for part in parts]
        for one in actual:
            get(client, one)
        return actual

    own = ["/feeds/changes", "/feeds/new"]
    assert announced("/") == own
    assert announced("/lab") == [*own, "/feeds/by/lab"]
    assert announced("/lab/galaxy-cnn") == [*own, "/lab/galaxy-cnn/feed"]
    assert 'href="/lab/galaxy-cnn/feed"' in client.get("/lab/galaxy-cnn/history").content.decode()
    client.force_login(charlie)
    assert announced("/lab/secret") == own


def test_an_empty_hub_has_an_empty_feed(client: Client) -> None:
    assert not entries(feed(client))
