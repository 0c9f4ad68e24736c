"""Imported profiles over the API: import, refusals, lists, deletion."""

import hashlib
from typing import Any

import pytest

from registry.tables import ImportedProfile
from tests.hub.api.client import Api
from tests.registry.analysis.imports import Bench, trace_of

PATH = "models/alice/cnn/profiles"


@pytest.fixture
def bench(db: None) -> Bench:
    return Bench()


@pytest.fixture
def api(bench: Bench) -> Api:
    return Api(bench.alice)


def upload(api: Api, data: bytes) -> str:
    """Send the bytes; their digest."""
    sha256 = hashlib.sha256(data).hexdigest()
    api.send("PUT", f"blobs/{sha256}", raw=data)
    return sha256


def send(api: Api, data: bytes, **values: Any) -> Any:
    body = {"sha256": upload(api, data), "target": "a laptop"} | values
    return api.send("POST", PATH, body)


def test_a_profile_is_imported_listed_read_and_deleted(api: Api) -> None:
    made = send(api, trace_of("residual-cnn"), tool_version="1.31").ok(201)
    assert made["actor"] == "alice"
    assert made["totals"]["coverage"]["nodes"] == 12
    assert made["fit"]["heavy_found"] == made["fit"]["heavy_nodes"] == 3
    (listed,) = Api().get(PATH).ok()["items"]
    assert listed["uuid"] == made["uuid"]
    read = Api().get(f"profiles/{made['uuid']}").ok()
    assert read["totals"] == made["totals"]
    page = Api().get(f"profiles/{made['uuid']}/calls?limit=5").ok()
    assert [call["sequence"] for call in page["items"]] == [0, 1, 2, 3, 4]
    assert page["next"]
    api.send("DELETE", f"profiles/{made['uuid']}").ok(204)
    assert not ImportedProfile.objects.exists()


def test_the_profile_of_another_network_is_a_problem_with_its_figure(api: Api) -> None:
    refusal = send(api, trace_of("transformer"))
    assert (refusal.status, refusal.code) == (400, "invalid_profile")
    assert "matched" in refusal.json["detail"]


def test_a_wrong_format_is_refused(api: Api) -> None:
    assert send(api, trace_of("residual-cnn"), format="openvino").code == "invalid_profile"
    assert send(api, trace_of("residual-cnn"), format="perf").code == "invalid_request"


def test_bytes_must_be_uploaded_first(api: Api) -> None:
    refusal = api.send("POST", PATH, {"sha256": "0" * 64, "target": "a laptop"})
    assert refusal.code == "blob_not_found"


def test_nobody_imports_without_a_name(bench: Bench) -> None:
    refusal = Api().send("POST", PATH, {"sha256": "0" * 64, "target": "a laptop"})
    assert refusal.status == 401
