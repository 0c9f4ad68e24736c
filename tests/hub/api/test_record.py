"""Records over HTTP: read, revalidated, reproduced."""

import copy
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from registry import schemas
from registry.states import Scope
from registry.tables import User
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene


def reproduction(scene: Scene, **changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(scene.record.document)
    del document["record_id"]
    document["identity"]["kind"] = "reproduction"
    document["provenance"]["reproduces"] = scene.record.pk
    document["provenance"].pop("job", None)
    for group, values in changes.items():
        document[group] |= values
    return document


def test_a_record_comes_as_it_was_named(anonymous: Api, scene: Scene) -> None:
    answer = anonymous.get(f"records/{scene.record.pk}")
    document = answer.ok()
    assert schemas.record_id(document) == scene.record.pk == document["record_id"]
    assert answer.headers["ETag"] == f'"{scene.record.pk}"'
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_a_known_record_is_not_sent_again(anonymous: Api, scene: Scene) -> None:
    path = f"records/{scene.record.pk}"
    answer = anonymous.get(path, If_None_Match=f'"{scene.record.pk}"')
    assert (answer.status, answer.content) == (304, b"")
    assert "immutable" in answer.headers["Cache-Control"]
    assert anonymous.get(path, If_None_Match='"other"').status == 200


def test_a_private_record_stays_out_of_shared_caches(as_charlie: Api, secret_scene: Scene) -> None:
    answer = as_charlie.get(f"records/{secret_scene.record.pk}")
    assert answer.headers["Cache-Control"].startswith("private,")


def test_records_are_listed_newest_first(anonymous: Api, scene: Scene, secret_scene: Scene) -> None:
    found = anonymous.all("records", limit=1)
    assert len(found) == 2
    assert {record["identity"]["mlmodel"] for record in found} == {"lab/galaxy-cnn"}
    for query, count in {
        "model=lab/galaxy-cnn": 2,
        f"target={scene.target.slug}": 2,
        "target=other": 0,
    }.items():
        assert len(anonymous.get(f"records?{query}").ok()["items"]) == count
    assert anonymous.get("records?model=lab/secret").code == "model_not_found"


def test_a_models_records_can_be_narrowed_to_a_revision(anonymous: Api, scene: Scene) -> None:
    path = "models/lab/galaxy-cnn/records"
    assert len(anonymous.get(path).ok()["items"]) == 2
    assert len(anonymous.get(f"{path}?revision=main").ok()["items"]) == 2
    first = anonymous.all("models/lab/galaxy-cnn/revisions", limit=5)[-1]["oid"]
    assert anonymous.get(f"{path}?revision={first}").ok()["items"] == []


def test_many_records_cost_few_queries(
    anonymous: Api, scene: Scene, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(3):
        anonymous.get("records").ok()


def test_a_reproduction_can_be_added_and_twice_is_once(as_alice: Api, scene: Scene) -> None:
    document = reproduction(scene)
    added = as_alice.post("records", document).ok(201)
    assert added["record_id"] == schemas.record_id(document)
    assert as_alice.post("records", document).ok(201) == added
    assert len(as_alice.get("records").ok()["items"]) == 3


def test_those_who_confirm_a_record_are_shown_with_it(
    as_alice: Api, as_charlie: Api, scene: Scene, client: Client
) -> None:
    """Alice agrees, twice; the interval of charlie's ratio lies elsewhere."""
    ratio = scene.record.document["comparison"]
    for clock in ("00:00:01", "00:00:02"):
        again = reproduction(scene, provenance={"created_at": f"2026-11-26T{clock}Z"})
        as_alice.post("records", again).ok(201)
    slower = {name: ratio[name] * 3 for name in ("ratio", "ratio_low", "ratio_high")}
    other = as_charlie.post("records", reproduction(scene, comparison=slower)).ok(201)

    page = client.get(f"/records/{scene.record.pk}")
    assert [person.username for person in page.context["repetitions"].people] == ["alice"]
    agreed = [row.agrees for row in page.context["repetitions"].rows]
    assert sorted(agreed) == [False, True, True]
    assert "Confirmed by 1 other: alice." in page.text
    assert "charlie, on a machine of their own" in client.get(f"/records/{other['record_id']}").text


def test_a_record_that_does_not_hold_is_refused(as_alice: Api, scene: Scene) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"identity": {"kind": "headline"}}, "$.identity.kind"),
        ({"identity": {"revision": "0" * 40}}, "$.identity"),
        ({"provenance": {"reproduces": "0" * 64}}, "$.provenance.reproduces"),
        ({"identity": {"mood": "good"}}, "$.identity"),
    ]
    for changes, where in cases:
        answer = as_alice.post("records", reproduction(scene, **changes))
        assert (answer.status, answer.code) == (400, "invalid_record"), changes
        assert list(answer.json["fields"]) == [where], changes


def test_a_forged_id_is_refused(as_alice: Api, scene: Scene) -> None:
    answer = as_alice.post("records", {**reproduction(scene), "record_id": "0" * 64})
    assert answer.code == "invalid_record"


def test_records_are_added_by_people_who_may_write(
    anonymous: Api, alice: User, scene: Scene
) -> None:
    document = reproduction(scene)
    assert anonymous.post("records", document).code == "not_authenticated"
    assert Api(alice, Scope.READ).post("records", document).code == "scope_missing"


def test_a_record_must_be_an_object(as_alice: Api) -> None:
    assert as_alice.post("records", []).code == "invalid_request"
    assert as_alice.post("records", {}).code == "invalid_record"


def test_the_schema_of_records_is_served(anonymous: Api) -> None:
    assert anonymous.get("schemas/hpcfair.bench-1.json").ok() == schemas.bench_schema()


@pytest.mark.parametrize("name", ["0" * 64, "x", "%F0%9F%98%80"])
def test_an_unknown_record_is_not_found(anonymous: Api, name: str) -> None:
    assert anonymous.get(f"records/{name}").code == "record_not_found"
