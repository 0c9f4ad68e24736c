"""What this hub does not offer is refused in words, and never by an error of the hub."""

import json

import httpx
import pytest
from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, HfHubHTTPError

from registry.states import Gate
from registry.tables import MLModel, User
from tests.factories import make_mlmodel
from tests.hub.hf.conftest import ApiOf

HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
SHARD = len(HEADER).to_bytes(8, "little") + HEADER + bytes(4)


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("api/spaces", 400, None),
        ("api/spaces/zero-gpu/quota", 400, None),
        ("api/spaces/lab/page", 404, "RepoNotFound"),
        ("api/kernels/lab/kernel", 404, "RepoNotFound"),
        ("api/jobs/lab/1/logs", 400, None),
        ("api/scheduled-jobs/lab", 400, None),
        ("api/buckets/lab/bucket", 400, None),
        ("api/collections", 400, None),
        ("api/papers/2601.15621", 400, None),
        ("api/daily_papers", 400, None),
        ("spaces/lab/page/resolve/main/app.py", 404, "RepoNotFound"),
        ("uploads", 400, None),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_features_that_are_not_offered(
    hub_url: str, address: str, status: int, code: str | None, method: str
) -> None:
    answer = httpx.request(method, f"{hub_url}/{address}", json={})
    assert (answer.status_code, answer.headers.get("X-Error-Code")) == (status, code)
    assert "does not offer" in answer.json()["error"]


def test_what_is_missing_besides_files_has_no_code_of_a_file(
    api_of: ApiOf, galaxy: MLModel, alice: User
) -> None:
    for call in (
        lambda api: api.get_user_overview("no-one"),
        lambda api: api.get_discussion_details("lab/galaxy-cnn", 99),
        lambda api: api.get_webhook("0" * 32),
    ):
        with pytest.raises(HfHubHTTPError) as caught:
            call(api_of(alice))
        assert caught.type is HfHubHTTPError


def test_headers_of_shards_come_in_one_answer(api_of: ApiOf, alice: User, bob: User) -> None:
    index = {"metadata": {"total_size": 4}, "weight_map": {"w": "part.safetensors"}}
    files: dict[str, bytes | str] = {
        "deep/model.safetensors.index.json": json.dumps(index),
        "deep/part.safetensors": SHARD,
        "lost.index.json": json.dumps(index),
        "list.index.json": "[]",
        "text.index.json": json.dumps({"weight_map": {"w": "list.index.json"}}),
    }
    mlmodel = make_mlmodel("alice/sharded", actor=alice, files=files)
    get = api_of(bob).get_sharded_safetensors_metadata
    metadata = get("alice/sharded", filename="deep/model.safetensors.index.json")
    assert metadata.weight_map == index["weight_map"]
    assert metadata.parameter_count == {"F32": 1}
    for path in ("none.json", "lost.index.json"):
        with pytest.raises(EntryNotFoundError):
            get("alice/sharded", filename=path)
    for path in ("list.index.json", "text.index.json"):
        with pytest.raises(HfHubHTTPError, match="safetensors"):
            get("alice/sharded", filename=path)
    mlmodel.gate = Gate.MANUAL
    mlmodel.save()
    with pytest.raises(GatedRepoError):
        get("alice/sharded", filename="deep/model.safetensors.index.json")
