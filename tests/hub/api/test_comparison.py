"""``GET /api/v1/compare``."""

from typing import Any

import pytest
from django.test import Client

from registry.tables import Build
from tests.registry import shopfloor
from tests.registry.analysis.comparisons import DEFAULT_CALLS, FUSED_CALLS, published

pytestmark = pytest.mark.django_db


@pytest.fixture
def builds() -> list[Build]:
    return published(
        shopfloor.floor(),
        calls={"all": DEFAULT_CALLS, "half": FUSED_CALLS},
        half={"ratio": 0.8, "p50_ns": 3_200_000, "accuracy": 0.99},
    )


def get(client: Client, query: str, status: int = 200) -> Any:
    answer = client.get(f"/api/v1/compare?{query}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_comparison_is_one_document(client: Client, builds: list[Build]) -> None:
    document = get(client, "model=alice/squeezenet&accuracy=0.9&x=size")
    assert [build["uuid"] for build in document["builds"]] == [
        str(builds[1].uuid),
        str(builds[0].uuid),
    ]
    assert document["builds"][1]["figures"]["accuracy"] is None
    assert document["groups"]["rows"][0]["times_ns"] == [70_000, 20_000]
    assert document["answer"]["cheapest"] == str(builds[1].uuid)
    assert document["answer"]["unevaluated"] == 1
    assert get(client, "model=alice/squeezenet")["answer"] is None


def test_names_may_be_repeated_or_separated_by_commas(client: Client, builds: list[Build]) -> None:
    one, other = (str(build.uuid) for build in builds)
    for query in (f"build={one}&build={other}", f"build={one},{other}"):
        assert [each["uuid"] for each in get(client, query)["builds"]] == [one, other]


def test_hidden_models_are_missing_like_those_that_do_not_exist(client: Client) -> None:
    shopfloor.floor("bob/secret", private=True)
    document = get(client, "model=bob/secret,bob/nothing")
    assert document["missing"] == ["bob/secret", "bob/nothing"]
    assert document["builds"] == []
    assert document["matrix"]["rows"] == []


@pytest.mark.parametrize("query", ["accuracy=2", "latency_ms=-1", "x=beauty", "accuracy=much"])
def test_malformed_parameters_are_refused(client: Client, query: str) -> None:
    assert get(client, query, status=400)["code"] == "invalid_request"
