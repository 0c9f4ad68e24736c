"""Imports on the pages: the form, what is refused, and how to try again."""

from typing import Any

import pytest
from django.test import Client

from hub.pages.importform import ImportForm
from registry.services.work.attempt import job_claim, job_fail, job_yield
from registry.states import FailureClass, JobKind
from registry.tables import Job, MLModel, User
from tests.factories import make_mlmodel, readme

SERVER = "https://hub.test"
FORM = {"namespace": "alice", "origin": "far/net"}


@pytest.fixture(autouse=True)
def servers(settings: Any) -> None:
    settings.IMPORT_SERVERS = [SERVER]


@pytest.mark.parametrize(
    ("text", "origin", "revision"),
    [
        ("far/net", "far/net", ""),
        ("hf:far/net@v1", "far/net", "v1"),
        (f"{SERVER}/far/net/", "far/net", ""),
        (f"{SERVER}/far/net/tree/refs/pr/1", "far/net", "refs/pr/1"),
    ],
)
def test_an_address_of_a_page_is_taken_apart(text: str, origin: str, revision: str) -> None:
    data = {"namespace": "alice", "origin": text, "server": SERVER}
    form = ImportForm(data, servers=["https://other.test", SERVER], namespaces=["alice"])
    assert form.is_valid(), form.errors
    got = form.cleaned_data
    assert (got["server"], got["origin"], got["revision"]) == (SERVER, origin, revision)


def test_what_cannot_be_imported_is_said_at_its_field(client: Client, alice: User) -> None:
    client.force_login(alice)
    make_mlmodel("alice/own", actor=alice, files={"README.md": readme()})
    for change, words in (
        ({"origin": "https://elsewhere.test/a/b"}, f"imports from {SERVER} only"),
        ({"origin": "a"}, "must be a repository"),
        ({"name": "own"}, "was published here"),
        ({"token": "hf_x1 y2"}, "no token has"),
    ):
        answer = client.post("/new/import", {**FORM, "server": SERVER, **change})
        assert (answer.status_code, words in answer.content.decode()) == (400, True), words
        assert "hf_x1" not in answer.content.decode()
    assert MLModel.objects.count() == 1


def test_a_failed_import_says_why_and_can_be_tried_again(
    client: Client, alice: User, bob: User
) -> None:
    client.force_login(alice)
    form = {**FORM, "server": SERVER, "token": "hf_secret", "revision": "v9"}
    place = client.post("/new/import", form)["Location"]
    text = client.get("/alice/net").content.decode()
    assert f"Its files are imported from {SERVER}/far/net: it waits for a worker." in text
    ticket = job_claim(device_name=None, kinds=[JobKind.IMPORT], target=None)
    assert ticket is not None
    report = {"phase": "import", "done": 3 * 10**6, "total": 9 * 10**6, "message": "file 1 of 2"}
    Job.objects.update(progress=report)
    text = client.get("/alice/net/builds").content.decode()
    assert "fetching the files, 3 of 9 MB, file 1 of 2." in text
    job_yield(job_uuid=ticket.job_uuid, fence=ticket.fence, reason="It does not answer.")
    text = client.get("/alice/net").content.decode()
    assert "waits for another attempt. Queued again: It does not answer. Once they" in text
    ticket = job_claim(device_name=None, kinds=[JobKind.IMPORT], target=None)
    assert ticket is not None
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.INVALID,
        code="access_gated",
        detail="Access is granted on request.",
    )
    for page in (place, "/alice/net", "/alice/net/import"):
        text = client.get(page).content.decode()
        # The page of the job has it in the log, too.
        assert text.count("Access is granted on request.") == (2 if page == place else 1)
        assert "hf_secret" not in text
    assert 'value="v9"' in text
    assert "Correct the form and try again" in text
    text = client.get("/alice/net").content.decode()
    assert f"from {SERVER}/far/net failed: Access is granted on request." in text
    assert "what was fetched is kept" in text
    assert client.post("/alice/net/import", form)["Location"] != place
    assert Job.objects.filter(kind=JobKind.IMPORT).count() == 2
    client.force_login(bob)
    assert client.get("/alice/net/import").status_code == 404


def test_a_hub_without_servers_names_the_client(client: Client, alice: User, settings: Any) -> None:
    client.force_login(alice)
    settings.IMPORT_SERVERS = []
    assert "hpcfair import" in client.get("/new/import").content.decode()
    make_mlmodel("alice/own", actor=alice, files={"README.md": readme()})
    assert client.get("/alice/own/import").status_code == 404
