"""The questions as a page: filled in, checked, saved; and what writers are told of a card."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from hub.pages.questionforms import LICENSES
from registry.selectors.repository.revision import readme_of, revision_get, text_of
from registry.tables import MLModel, Namespace, User
from registry.validation.license import license_of
from tests.factories import commit_files, make_mlmodel, member, readme, tiny_onnx

pytestmark = pytest.mark.django_db

PAGE = "/alice/net/describe"
TEXT = "# Galaxies\n\nSorts galaxies by their shapes, for surveys of the whole sky.\n"
ADA = {"name": "Ada Beispiel", "orcid": "0000-0002-1825-0097", "affiliation": "", "ror": ""}


@pytest.fixture(scope="module")
def kept_net(cast: None) -> int:
    card = readme(TEXT, authors=["Ada Beispiel <ada@example.org>"], unheard="kept")
    files = {"README.md": card, "a.bin": b"1"}
    return make_mlmodel("alice/net", actor=member("alice"), files=files).pk


@pytest.fixture
def net(db: None, kept_net: int) -> MLModel:
    """``alice/net`` with a card that answers half of it."""
    return MLModel.objects.get(pk=kept_net)


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def form(page: str, *creators: dict[str, str], **answers: str) -> dict[str, Any]:
    """What a browser sends: ``answers`` put over what the page's hidden fields hold."""
    seen = re.search(r'name="seen" value="([^"]*)"', page)
    assert seen
    sent = {"seen": seen[1], "creators-TOTAL_FORMS": f"{len(creators)}"}
    sent |= {"creators-INITIAL_FORMS": "0", "title": "", "license": "mit", "task": ""}
    sent |= {"datasets": "", "intended_use": ""}
    for place, creator in enumerate(creators):
        sent |= {f"creators-{place}-{name}": value for name, value in creator.items()}
    return sent | answers


def shown(client: Client, address: str = PAGE) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_page_is_filled_from_the_card_and_tells_what_is_missing(
    as_alice: Client, net: MLModel
) -> None:
    page = shown(as_alice)
    assert 'value="apache-2.0"' in page
    assert 'value="Ada Beispiel"' in page
    assert "from the first heading of README.md" in page
    assert re.search(r"FAIR: [\d.]+ of [\d.]+ points", page)
    assert "No creator has an ORCID iD." in page
    assert 'href="#id_intended_use"' in page
    assert "All that is asked is answered" not in page


def test_saved_answers_are_in_the_card_and_all_else_stays(as_alice: Client, net: MLModel) -> None:
    creators = (
        {**ADA, "place": "0"},
        {**ADA, "name": "Example Lab", "orcid": "", "ror": "05dxps055"},
    )
    sent = form(
        shown(as_alice),
        *creators,
        title="Galaxy shapes",
        license="MIT OR Apache-2.0",
        task="image-classification",
        datasets="alice/sky\r\n\r\nhttps://doi.org/10.5072/x",
        intended_use="Surveys.\r\n\r\nNot navigation.",
    )
    answer = as_alice.post(PAGE, sent)
    assert answer["Location"] == "/alice/net"
    revision = revision_get(net)
    assert revision.card == {
        "license": "MIT OR Apache-2.0",
        "authors": [
            {"name": "Ada Beispiel", "email": "ada@example.org", "orcid": ADA["orcid"]},
            {"name": "Example Lab", "ror": "05dxps055"},
        ],
        "unheard": "kept",
        "model_name": "Galaxy shapes",
        "pipeline_tag": "image-classification",
        "datasets": ["alice/sky", "https://doi.org/10.5072/x"],
        "intended_use": "Surveys.\n\nNot navigation.",
    }
    assert readme_of(revision) == TEXT
    assert "Your answers were written to README.md." in shown(as_alice, "/alice/net")
    assert as_alice.post(PAGE, {**sent, "seen": ""}).status_code == 409


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"license": ""}, "has no license"),
        ({"license": "freeware"}, "The license &#x27;freeware&#x27; is unknown"),
        ({"license": "other"}, "needs a name"),
        ({"creators-0-orcid": "0000-0002-1825-0098"}, "the iD is 0000-0002-1825-0097"),
        ({"creators-0-ror": "05gq02988", "creators-0-affiliation": "A"}, "05gq02987"),
        ({"creators-0-name": ""}, "Enter the name"),
        ({"title": "x" * 301}, "at most 300 characters"),
        ({"intended_use": "x" * 20_001}, "at most 20000 characters"),
        ({"datasets": "x" * 501}, "in 500 characters each"),
        ({"creators-TOTAL_FORMS": "9999"}, "at most 101"),
        ({"creators-TOTAL_FORMS": "x"}, "anagementForm"),
        ({"title": "bell \x07"}, "U+0007"),
    ],
)
def test_what_cannot_be_taken_is_said_and_what_was_typed_stays(
    as_alice: Client, net: MLModel, changes: dict[str, str], says: str
) -> None:
    head = revision_get(net)
    sent = form(shown(as_alice), ADA, **{"task": "fill-mask", **changes})
    answer = as_alice.post(PAGE, sent)
    assert answer.status_code == 400
    page = answer.content.decode()
    assert says in page
    assert 'value="fill-mask"' in page
    assert revision_get(net) == head


def test_looking_at_the_score_writes_nothing(as_alice: Client, net: MLModel) -> None:
    head = revision_get(net)
    sent = form(shown(as_alice), ADA, intended_use="Surveys of the sky.")
    page = as_alice.post(PAGE, {**sent, "action": "check"}).content.decode()
    assert 'href="#id_intended_use"' not in page
    assert "No creator has an ORCID iD." not in page
    sent = form(page, {**ADA, "orcid": "0000-0002-1825-0098"}, license="mitt")
    page = as_alice.post(PAGE, {**sent, "action": "check"}).content.decode()
    assert "If the other digits are correct, the iD is 0000-0002-1825-0097." in page
    assert "Did you mean &#x27;MIT&#x27;" in page
    assert revision_get(net) == head


def test_another_line_for_a_creator_keeps_what_was_typed(as_alice: Client, net: MLModel) -> None:
    sent = form(shown(as_alice), ADA, title="Typed")
    page = as_alice.post(PAGE, {**sent, "action": "more"}).content.decode()
    assert page.count('aria-label="Creator ') == 2
    assert 'value="Typed"' in page
    assert re.search(r'name="creators-1-name"[^>]* autofocus', page)


def test_answers_to_a_card_that_changed_meanwhile_are_shown_again(
    as_alice: Client, net: MLModel, alice: User
) -> None:
    sent = form(shown(as_alice), {**ADA, "place": "0"}, title="Typed")
    card = readme(TEXT, authors=[{"name": "Grace", "email": "grace@example.org"}])
    commit_files(net, {"README.md": card}, actor=alice)
    answer = as_alice.post(PAGE, sent)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "README.md has changed" in page
    assert 'value="Typed"' in page
    assert not re.search(r'name="creators-0-place" value', page)
    as_alice.post(PAGE, form(page, ADA, title="Typed"))
    # Nobody is given the address of whoever stood in that place.
    assert revision_get(net).card["authors"] == [{"name": ADA["name"], "orcid": ADA["orcid"]}]


def test_more_creators_than_a_form_holds_stay_as_they_are(
    as_alice: Client, net: MLModel, alice: User
) -> None:
    names = [f"Author {number}" for number in range(150)]
    commit_files(net, {"README.md": readme(TEXT, authors=names)}, actor=alice)
    page = shown(as_alice)
    assert "too many creators for a form" in page
    as_alice.post(PAGE, form(page, title="Typed"))
    assert revision_get(net).card["authors"] == names


def test_a_data_set_is_asked_four_questions(as_alice: Client, alice: User) -> None:
    make = {"kind": "dataset", "namespace": "alice", "name": "sky", "visibility": "public"}
    as_alice.post("/new", make)
    page = shown(as_alice, "/datasets/alice/sky/describe")
    assert 'name="task"' not in page
    sent = form(page, ADA, title="Sky", license="cc-by-4.0", intended_use="Images of the sky.")
    answer = as_alice.post("/datasets/alice/sky/describe", sent)
    assert answer["Location"] == "/datasets/alice/sky"
    card = revision_get(MLModel.objects.get(name="sky")).card
    assert card["pretty_name"] == "Sky"


def test_who_makes_a_model_is_led_to_its_files_and_to_the_questions(
    as_alice: Client, alice: User
) -> None:
    made = as_alice.post("/new", {"namespace": "alice", "name": "new", "visibility": "public"})
    uploads = [SimpleUploadedFile("model.onnx", tiny_onnx())]
    sent = {"card": "", "license": "mit", "uploads": uploads, "message": ""}
    answer = as_alice.post(made["Location"], sent)
    assert answer["Location"] == "/alice/new/describe"
    sent = form(shown(as_alice, answer["Location"]), ADA, intended_use="It sorts galaxies.")
    as_alice.post(answer["Location"], sent)
    page = shown(as_alice, "/alice/new")
    assert "It sorts galaxies." in page
    # From now on a card is there, and uploading leads back to it.
    card = text_of(revision_get(MLModel.objects.get(name="new")), "README.md", most_bytes=9999)
    again = {"card": f"{card}\nMore.\n", "message": ""}
    assert as_alice.post(made["Location"], again)["Location"] == "/alice/new"


def test_a_form_of_many_megabytes_is_refused_with_what_to_do(
    as_alice: Client, net: MLModel
) -> None:
    for address in (PAGE, "/alice/net/upload"):
        answer = as_alice.post(address, {"card": "x" * 5_000_000, "license": "mit"})
        assert answer.status_code == 413
        assert "send long texts as files" in answer.content.decode()
    files = {"uploads": [SimpleUploadedFile("README.md", b"x" * 5_000_000)], "card": ""}
    answer = as_alice.post("/alice/net/upload", files)
    assert answer.status_code == 400
    assert "a card may have 1048576" in answer.content.decode()


def test_only_writers_are_asked_and_told_what_to_mend(
    client: Client, net: MLModel, alice: User, bob: User
) -> None:
    card = "---\nlicense: mit\nauthors: [{name: A, orcid: 1}]\n---\n<script>alert(1)</script>\n"
    commit_files(net, {"README.md": card}, actor=alice)
    assert client.get(PAGE).status_code == 302
    for user in (None, bob):
        if user:
            client.force_login(user)
            assert client.get(PAGE).status_code == 403
            assert client.post(PAGE, {"license": "mit"}).status_code == 403
        assert "to mend in README.md" not in shown(client, "/alice/net")
    client.force_login(alice)
    page = shown(client, "/alice/net")
    assert "2 findings in README.md" in page
    assert "Line 3" in page
    assert "authors[0].orcid" in page
    assert "Line 5" in page
    assert "<script>alert(1)" not in page


def test_a_private_model_has_no_questions_for_strangers(
    client: Client, secret: MLModel, lab: Namespace, alice: User, charlie: User
) -> None:
    assert client.get("/lab/secret/describe").status_code == 404
    client.force_login(alice)
    assert client.get("/lab/secret/describe").status_code == 404
    client.force_login(charlie)
    assert client.get("/lab/secret/describe").status_code == 200


def test_every_license_that_is_offered_is_one() -> None:
    assert all(license_of({"license": license_}) for license_ in LICENSES)
