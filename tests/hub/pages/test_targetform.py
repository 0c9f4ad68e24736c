"""Operators register targets in a form, or from a file."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from registry.tables import Target
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(make_user("dana", is_staff=True))
    return client


def test_an_operator_registers_a_target(operator: Client) -> None:
    assert b"Register a target" in operator.get("/targets").content
    assert operator.get("/targets/new").status_code == 200
    form = {
        "slug": "arm64-sve",
        "architecture": "arm64",
        "features": "asimd  sve",
        "rank": "15",
        "memory_gib": "1.5",
    }
    answer = operator.post("/targets/new", form)
    assert (answer.status_code, answer["Location"]) == (302, "/targets/arm64-sve")
    target = Target.objects.get()
    assert (target.features, target.rank) == (["asimd", "sve"], 15)
    assert (target.memory_bytes, target.cores) == (3 * 2**29, 0)


def test_a_file_registers_several(operator: Client) -> None:
    rows = [{"slug": name, "architecture": "arm64"} for name in ("a", "b")]
    file = SimpleUploadedFile("targets.json", json.dumps({"targets": rows}).encode())
    assert operator.post("/targets/new", {"file": file})["Location"] == "/targets"
    assert Target.objects.count() == 2
    answer = operator.post("/targets/new", {"file": SimpleUploadedFile("t.json", b"{")})
    assert answer.status_code == 400
    assert b"The file is not JSON." in answer.content


def test_a_bad_target_is_refused_in_the_form(operator: Client) -> None:
    answer = operator.post("/targets/new", {"slug": "ARM", "architecture": "arm64"})
    assert answer.status_code == 400
    assert b"is not a valid name of a target" in answer.content
    assert operator.post("/targets/new", {"slug": "arm"}).status_code == 400


def test_other_people_get_no_form() -> None:
    assert Client().get("/targets/new").status_code == 302
    client = Client()
    client.force_login(make_user("bob"))
    assert client.get("/targets/new").status_code == 403
    assert b"Register a target" not in client.get("/targets").content
