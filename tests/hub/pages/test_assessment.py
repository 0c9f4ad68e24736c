"""What people see of FAIR scores: a page for each record, a badge, a report, a command."""

import io
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.services.fair.assessment import assessment_add
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import JobKind, RepositoryKind
from registry.tables import Job, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.pages.test_reading import text
from tests.registry.assessed import document

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cast")]

ROOT = "/lab/galaxy-cnn"


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    """No report of another test."""
    cache.clear()


@pytest.fixture
def seen(galaxy: MLModel) -> MLModel:
    """``lab/galaxy-cnn``, looked at twice."""
    for points in (1, 3):
        assessment_add(revision_get(galaxy), document(points))
    return galaxy


@pytest.fixture
def owner(client: Client, charlie: User) -> Client:
    """The browser of charlie, who may write."""
    client.force_login(charlie)
    return client


def test_a_stranger_reads_the_score_and_what_is_missing(client: Client, seen: MLModel) -> None:
    page = text(client, f"{ROOT}/fair")
    assert "3 of 4" in page
    assert "There is no licence." in page
    assert "1 of 4 lost" in page
    assert "FAIR score over time" in page
    assert "/lab/galaxy-cnn/badge/fair.svg" in page
    assert "Assess again" not in page
    assert "/describe" not in page


def test_a_writer_is_led_to_the_form_that_mends_it(owner: Client, seen: MLModel) -> None:
    page = text(owner, f"{ROOT}/fair")
    assert f'href="{ROOT}/describe#id_license"' in page
    assert "Assess again" in page


def test_a_writer_asks_for_a_look(owner: Client, seen: MLModel) -> None:
    oid = revision_get(seen).oid
    answer = owner.post(f"{ROOT}/fair/look", {"revision": oid}, follow=True)
    assert answer.redirect_chain == [(f"{ROOT}/fair?revision={oid}", 302)]
    page = answer.content.decode()
    assert "within a minute or two" in page
    assert "An assessment is queued" in page
    assert Job.objects.get(kind=JobKind.ASSESS).revision.oid == oid


def test_nobody_else_asks_for_a_look(client: Client, seen: MLModel, bob: User) -> None:
    assert client.get(f"{ROOT}/fair/look").status_code == 405
    assert client.post(f"{ROOT}/fair/look")["Location"].startswith("/login")
    client.force_login(bob)
    assert client.post(f"{ROOT}/fair/look").status_code == 403
    assert not Job.objects.filter(kind=JobKind.ASSESS).exists()


def test_before_the_first_look_a_writer_sees_what_is_expected(
    client: Client, galaxy: MLModel, charlie: User
) -> None:
    assert "This version has not been assessed yet" in text(client, f"{ROOT}/fair")
    client.force_login(charlie)
    page = text(client, f"{ROOT}/fair")
    assert "this is the expected result" in page
    assert "Findable" in page
    assert "As JSON" not in page


def test_what_is_private_shows_its_members_what_is_expected(
    owner: Client, secret: MLModel, bob: User
) -> None:
    page = text(owner, "/lab/secret/fair")
    assert "once it is public" in page
    assert "badge/fair.svg" not in page
    assert "Assess again" not in page
    owner.force_login(bob)
    for address in ("/lab/secret/fair", "/lab/secret/badge/fair.svg"):
        assert owner.get(address).status_code == 404


def test_an_old_version_keeps_what_was_found(client: Client, seen: MLModel) -> None:
    old = revision_get(seen).oid
    commit_files(seen, {"notes.txt": "new\n"})
    assert "Only the newest and tagged versions" not in text(client, f"{ROOT}/fair?revision={old}")
    assert "3 of 4" in text(client, f"{ROOT}/fair?revision={old}")
    assert "has not been assessed" in text(client, f"{ROOT}/fair")


def test_data_sets_have_scores_too(client: Client, alice: User) -> None:
    sky = make_mlmodel("alice/sky", files={"README.md": readme()}, kind=RepositoryKind.DATASET)
    assessment_add(revision_get(sky), document(4) | {"kind": "dataset"})
    page = text(client, "/datasets/alice/sky/fair")
    assert "4 of 4" in page
    assert "Nothing: every metric" in page
    assert title(client, "/datasets/alice/sky/badge/fair.svg") == "FAIR: 4 of 4 points, 100 %"


def title(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer["Content-Type"] == "image/svg+xml"
    found = ElementTree.fromstring(answer.content)  # noqa: S314 - our own
    return str(found.get("aria-label"))


def test_a_badge_says_the_newest_score_there_is(client: Client, seen: MLModel) -> None:
    address = f"{ROOT}/badge/fair.svg"
    assert title(client, address) == "FAIR: 3 of 4 points, 75 %"
    newest = commit_files(seen, {"notes.txt": "new\n"})
    assert title(client, address) == "FAIR: 3 of 4 points, 75 %"
    assert title(client, f"{address}?revision={newest.oid}") == "FAIR: not assessed"
    assessment_add(newest, document(4))
    assert title(client, address) == "FAIR: 4 of 4 points, 100 %"
    assert client.get(f"{address}?revision=nowhere").status_code == 404


def test_a_badge_is_kept_by_caches_for_minutes(client: Client, seen: MLModel) -> None:
    answer = client.get(f"{ROOT}/badge/fair.svg")
    assert answer["Cache-Control"] == "public, max-age=300"
    again = client.get(f"{ROOT}/badge/fair.svg", headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.post(f"{ROOT}/badge/fair.svg").status_code == 405


def test_the_report_is_for_everybody_and_tells_of_what_they_may_read(
    client: Client, seen: MLModel, secret: MLModel, charlie: User
) -> None:
    assessment_add(revision_get(secret), document(4))
    page = text(client, "/fair")
    assert "75.0 %" in page
    assert "of 1 record<" in page
    assert "1 record; most are at 70–79 % of the points." in page
    assert "A licence" in page
    assert "lab/secret" not in page
    client.force_login(charlie)
    assert "lab/secret" in text(client, "/fair")


def test_a_hub_without_looks_says_so(client: Client) -> None:
    assert "No record has been assessed yet" in text(client, "/fair")


def test_hostile_texts_in_what_was_found_are_shown_as_texts(
    client: Client, galaxy: MLModel
) -> None:
    found: Any = document()
    found["metrics"][0]["evidence"] = ["<script>alert(1)</script>"]
    found["metrics"][0]["missing"][0]["what"] = "<img src=x onerror=alert(2)>"
    assessment_add(revision_get(galaxy), found)
    page = text(client, f"{ROOT}/fair")
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("assess", *arguments, stdout=out)
    return out.getvalue()


def test_operators_list_scores_and_have_records_looked_at(seen: MLModel, alice: User) -> None:
    assert said().startswith("lab/galaxy-cnn\t3 of 4\t75 %\t")
    assert said("lab/galaxy-cnn").startswith("lab/galaxy-cnn\tqueued\t")
    make_mlmodel("alice/sky", files={"README.md": readme()}, kind=RepositoryKind.DATASET)
    assert said("--dataset", "alice/sky").startswith("alice/sky\tqueued\t")
    assert len(said("--all").splitlines()) == 2
    assert Job.objects.filter(kind=JobKind.ASSESS).count() == 2
    mlmodel_update(actor=None, mlmodel=seen, visibility="private")
    for wrong in (["lab/galaxy-cnn"], ["alice/sky"], ["--all", "alice/sky"]):
        with pytest.raises(CommandError):
            said(*wrong)
