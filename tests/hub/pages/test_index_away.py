"""An index that cannot be written costs search, and nothing else."""

from pathlib import Path

import pytest
from django.test import Client

from registry.tables import MLModel, User
from tests.factories import commit_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_index(data_dir: Path, galaxy: MLModel) -> None:
    """The index folder can neither be made nor written, as on a full or read-only disk."""
    (data_dir / "index").write_text("This is no folder.")


@pytest.mark.usefixtures("no_index")
def test_pages_say_what_is_missing_and_show_the_rest(client: Client) -> None:
    for address in ("/", "/lab"):
        page = client.get(address)
        assert page.status_code == 200, address
        assert "The list of models is not available at the moment." in page.content.decode()
    assert client.get("/lab/galaxy-cnn").status_code == 200
    assert client.get("/datasets").status_code == 200


@pytest.mark.usefixtures("no_index")
def test_search_is_refused_plainly(client: Client) -> None:
    page = client.get("/models?q=galaxy", headers={"Accept": "text/html"})
    assert page.status_code == 503
    assert page.headers["Retry-After"]
    assert "index" in page.content.decode()
    answer = client.get("/api/v1/models?q=galaxy")
    assert (answer.status_code, answer.json()["code"]) == (503, "index_busy")
    assert answer.headers["Retry-After"]


@pytest.mark.usefixtures("no_index")
def test_commits_are_acknowledged(charlie: User, galaxy: MLModel) -> None:
    revision = commit_files(galaxy, {"notes.txt": "new\n"}, actor=charlie)
    assert revision.pk
