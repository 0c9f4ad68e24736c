"""Requests that once broke the hub."""

import json
from typing import Any

import pytest
from django.test import Client

from registry.tables import MLModel, User
from tests.factories import make_token

_FORM = "application/x-www-form-urlencoded"


def _post(user: User, path: str, body: Any) -> Any:
    return Client().post(
        path,
        json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {make_token(user)}"},
    )


def test_transfers_that_are_no_list_mean_the_basic_one(galaxy: MLModel, charlie: User) -> None:
    asked = {"operation": "upload", "objects": [], "transfers": 5}
    answer = _post(charlie, "/lab/galaxy-cnn.git/info/lfs/objects/batch", asked)
    assert answer.status_code == 200


@pytest.mark.parametrize("kind", [["org"], {}, None, 1])
def test_what_a_webhook_watches_has_a_word_for_its_type(charlie: User, kind: object) -> None:
    asked = {"url": "https://example.org/", "watched": [{"type": kind, "name": "charlie"}]}
    assert _post(charlie, "/api/settings/webhooks", asked).status_code == 400


@pytest.mark.parametrize(
    ("page", "status"), [("0" * 9 + "9" * 20, 400), ("9" * 18, 400), ("100000", 200)]
)
def test_pages_of_discussions_have_an_end(galaxy: MLModel, page: str, status: int) -> None:
    answer = Client().get(f"/api/models/lab/galaxy-cnn/discussions?p={page}")
    assert answer.status_code == status


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=b", f"{_FORM}; charset=utf-16"]
)
def test_a_form_that_is_none_is_refused(db: None, kind: str) -> None:
    answer = Client().generic("POST", "/oauth/token", b"--b\r\nx", content_type=kind)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_refused_method_names_the_request(db: None) -> None:
    answer = Client().put("/api/whoami-v2", headers={"X-Request-Id": "r-1"})
    assert answer.status_code == 405
    assert answer.headers["X-Request-Id"] == "r-1"


@pytest.mark.parametrize("name", ["filter", "search"])
def test_a_list_is_narrowed_by_a_few_things_only(db: None, name: str) -> None:
    few, many = "&".join([f"{name}=a"] * 20), "&".join([f"{name}=a"] * 21)
    assert Client().get(f"/api/models?{few}").status_code == 200
    assert Client().get(f"/api/models?{many}").status_code == 400
    assert Client().get(f"/api/models?{'&'.join([f'{name}=a'] * 990)}").status_code == 400
