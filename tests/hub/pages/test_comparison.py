"""The page that compares builds."""

import csv
import io

import pytest
from django.test import Client

from registry.tables import Build, User
from tests.hub.pages.tuning import floor_of, make_digits, publish_digits
from tests.registry import shopfloor
from tests.registry.analysis.comparisons import (
    DEFAULT_CALLS,
    FUSED_CALLS,
    failed_trial,
    published,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def builds(alice: User) -> list[Build]:
    """The default, an exact build and an int8 one of ``alice/digits``; the first two profiled."""
    return published(
        floor_of(make_digits(alice)),
        trials=(failed_trial(1, "tvm", failure_detail="<b>no converter</b>"),),
        calls={"all": DEFAULT_CALLS, "half": FUSED_CALLS},
        half={"ratio": 0.8, "p50_ns": 3_200_000, "accuracy": 0.99},
        two={"ratio": 0.5, "p50_ns": 2_000_000, "tolerance": "int8", "accuracy": 0.97},
    )


def get(client: Client, query: str, status: int = 200) -> str:
    answer = client.get(f"/compare?{query}")
    assert answer.status_code == status
    return answer.content.decode()


def test_a_model_is_compared_with_all_parts(client: Client, builds: list[Build]) -> None:
    text = get(client, "model=alice/digits")
    assert "nodes 0–1: Conv, Relu, ConvRelu" in text
    assert "is the fastest in 1 of 2 groups" in text
    assert "In 1 of them the builds computed in different precisions" in text
    assert "−50.0 µs" in text
    assert "crashed: 1 trial" in text
    assert "&lt;b&gt;no converter&lt;/b&gt;" in text
    assert "not evaluated" in text
    assert "Not measured for any of these builds: energy of a run" in text
    for build in builds:
        assert f'data-compare="{build.uuid}"' in text


def test_the_cheapest_within_limits_is_named(client: Client, builds: list[Build]) -> None:
    text = get(client, "model=alice/digits&accuracy=0.98&latency_ms=5")
    assert "x86-64-avx512, onnxruntime" in text
    assert f'<a href="/builds/{builds[1].uuid}">onnxruntime exact build of alice/digits</a>' in text
    assert "1 build left out, because accuracy was not evaluated" in text
    assert "None of 3 builds meets the limits" in get(client, "model=alice/digits&latency_ms=0.1")


def test_named_builds_can_be_removed_one_by_one(client: Client, builds: list[Build]) -> None:
    one, other = builds[0].uuid, builds[1].uuid
    text = get(client, f"build={one}&build={other}&x=size")
    assert f'href="?build={other}&amp;x=size"' in text
    assert "Everything as JSON" in text


@pytest.mark.parametrize(
    "query", ["accuracy=much", "latency_ms=-1", "accuracy=nan", "x=beauty", "y=latency"]
)
def test_malformed_questions_are_refused(client: Client, query: str) -> None:
    answer = client.get(f"/compare?{query}")
    assert answer.status_code == 400


def test_without_a_question_it_says_what_to_do(client: Client) -> None:
    text = get(client, "")
    assert "Nothing to compare yet" in text
    assert "Builds as CSV" not in text


def test_hidden_models_and_nonsense_look_alike(client: Client) -> None:
    shopfloor.floor("bob/secret", private=True)
    hidden, none = get(client, "model=bob/secret"), get(client, "model=bob/nothing")
    assert hidden.replace("secret", "nothing") == none
    assert "nothing called" in none
    assert "matrix" not in none


def test_downloads_hold_the_data_of_the_figures(client: Client, builds: list[Build]) -> None:
    answer = client.get("/compare?model=alice/digits&format=csv")
    assert answer["Content-Type"].startswith("text/csv")
    assert "compare?model=alice%2Fdigits" in answer["Link"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["build"] for row in rows] == [str(builds[n].uuid) for n in (2, 1, 0)]
    assert rows[0]["latency_ns"] == "2000000.0"
    assert rows[2]["accuracy_share"] == ""
    groups = client.get("/compare?model=alice/digits&format=csv&table=groups").content.decode()
    by_nodes = {row["nodes"]: row for row in csv.DictReader(io.StringIO(groups))}
    assert by_nodes["0 1"][f"{builds[1].uuid}_ns"] == "20000"
    document = client.get("/compare?model=alice/digits&format=json").json()
    assert "format" not in document["permalink"]
    assert document["groups"]["rows"][0]["times_ns"] == [70_000, 20_000]
    assert document["matrix"]["rows"][0]["cells"][1]["reason"] == "crashed: 1 trial"
    assert document["builds"][0]["record"] == builds[2].record_id


def test_pages_of_builds_lead_to_the_comparison(client: Client, alice: User) -> None:
    digits = make_digits(alice)
    publish_digits(digits)
    page = client.get("/alice/digits/builds").content.decode()
    assert '/compare?model=alice/digits"' in page
    assert page.count("data-compare=") == 4
    build = Build.objects.first()
    assert build is not None
    assert "data-compare=" in client.get(f"/builds/{build.uuid}").content.decode()
