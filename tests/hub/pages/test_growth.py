"""Pages of a hub too large to read whole."""

import pytest
from django.test import Client

from registry.search import digests, scale
from registry.selectors.search import hub as hub_selector
from tests.registry.search import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_models_of_similar_structure_are_listed_most_similar_first(client: Client) -> None:
    for name, embedding, age_s in (
        ("reference", (1.0, 0.0), 5),
        ("far", (0.0, 1.0), 1),
        ("near", (0.9, 0.1), 9),
    ):
        rows.graph(rows.mlmodel(f"lab/{name}", age_s=age_s), structure=name, embedding=embedding)
    page = client.get("/models?similar_to=lab/reference")
    assert [row.name for row in page.context["results"].items] == ["near", "far"]
    newest = client.get("/models?similar_to=lab/reference&sort=updated")
    assert [row.name for row in newest.context["results"].items] == ["far", "near"]


def test_the_front_page_of_a_large_hub_counts_no_rows(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.mlmodel("lab/a")
    assert client.get("/").context["counts"][0] == ("Models", 1)

    def refuse() -> dict[str, int]:
        raise AssertionError("rows are counted within a request")

    monkeypatch.setattr(scale, "SMALL", 0)
    monkeypatch.setattr(digests, "_start", lambda *_: None)
    monkeypatch.setattr(hub_selector, "_count", refuse)
    page = client.get("/")
    assert page.status_code == 200
    assert not page.context["counts"]


def test_tags_and_tasks_of_a_large_hub_are_what_was_stored(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.mlmodel("lab/a")
    monkeypatch.setattr(scale, "SMALL", 0)
    monkeypatch.setattr(digests, "_start", lambda *_: None)
    assert client.get("/api/models-tags-by-type").json() == {}
    assert client.get("/api/tasks").json() == {}
