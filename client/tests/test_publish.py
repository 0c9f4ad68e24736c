"""Publishing: nothing is sent before it can succeed, and nothing is sent twice."""

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from hpcfair.card import parse
from hpcfair.client import Client
from hpcfair.errors import (
    BadInput,
    Forbidden,
    InvalidModelFile,
    LicenseMissing,
    NoModelFile,
    NotSupported,
    UnsafePath,
)

NAME = "lab/tiny"
MODEL = f"/api/v1/models/{NAME}"
OID = "3f786850e387550fdab836ed7e6dc881de23001b"
CARD = {"license": "mit", "task": "image-classification"}
JOB = {"uuid": "j1", "kind": "inspect", "model": NAME, "state": "queued"}


def committed(hub: Any) -> dict[str, str]:
    """Path to digest of what the last commit added."""
    request = hub.calls("POST", f"{MODEL}/commits")[-1]
    operations = httpx.Response(200, content=request.content).json()["operations"]
    return {operation["path"]: operation["sha256"] for operation in operations}


def stored(hub: Any, path: str) -> bytes:
    """What the hub has of a committed file."""
    return bytes(hub.blobs[committed(hub)[path]])


@pytest.fixture(autouse=True)
def commits(hub: Any, answer: Callable[..., httpx.Response]) -> None:
    """A hub that takes a new model, and whose inspection succeeds."""
    hub.on("POST", "/api/v1/models", httpx.Response(201, json={"name": NAME}))
    hub.on("POST", f"{MODEL}/commits", {"oid": OID, "files": [], "jobs": [JOB]})
    hub.on("GET", "/api/v1/jobs/j1", {**JOB, "state": "succeeded"})
    hub.on("GET", f"{MODEL}/files/README.md", lambda _: answer(404, "model_not_found"))


def test_saving_sends_the_file_and_a_card(hub: Any, client: Client, tiny: bytes) -> None:
    revision = client.save(tiny, NAME, card=CARD)

    assert revision.oid == OID
    assert stored(hub, "model.onnx") == tiny
    values, body = parse(stored(hub, "README.md").decode())
    assert values == {"license": "mit", "pipeline_tag": "image-classification"}
    assert body == "# tiny\n"


def test_bytes_the_hub_has_are_not_sent_again(hub: Any, client: Client, tiny: bytes) -> None:
    hub.blobs[hashlib.sha256(tiny).hexdigest()] = tiny

    client.save(tiny, NAME, card=CARD)

    assert len([request for request in hub.requests if request.method == "PUT"]) == 1


def test_an_upload_names_its_length(hub: Any, client: Client, tiny: bytes) -> None:
    client.save(tiny, NAME, card=CARD)

    sent = next(r for r in hub.requests if r.method == "PUT" and r.content == tiny)
    assert sent.headers["Content-Length"] == str(len(tiny))
    assert "Transfer-Encoding" not in sent.headers


def test_without_a_license_nothing_is_sent(hub: Any, client: Client, tiny: bytes) -> None:
    with pytest.raises(LicenseMissing):
        client.save(tiny, NAME, card={"task": "image-classification"})

    assert {request.method for request in hub.requests} == {"GET"}


def test_an_argument_that_save_lacks_is_refused(hub: Any, client: Client, tiny: bytes) -> None:
    options: Any = {"license": "mit"}
    with pytest.raises(TypeError, match="is passed as card="):
        client.save(tiny, NAME, **options)
    assert not hub.calls("POST", f"{MODEL}/commits")


def test_new_weights_keep_the_card_the_hub_has(hub: Any, client: Client, tiny: bytes) -> None:
    card = b"---\nlicense: mit\n---\n# Mine\n"
    hub.on("GET", f"{MODEL}/files/README.md", card)

    client.save(tiny, NAME)

    assert stored(hub, "README.md") == card


def test_a_model_that_exists_gets_a_new_revision(
    hub: Any, client: Client, tiny: bytes, answer: Callable[..., httpx.Response]
) -> None:
    hub.on("POST", "/api/v1/models", answer(409, "model_exists"))

    assert client.save(tiny, NAME, card=CARD).oid == OID


def test_a_namespace_of_others_is_refused(
    hub: Any, client: Client, tiny: bytes, answer: Callable[..., httpx.Response]
) -> None:
    hub.on("POST", "/api/v1/models", answer(403, "permission_denied"))

    with pytest.raises(Forbidden):
        client.save(tiny, NAME, card=CARD)


def test_saving_the_same_again_gives_the_revision_there_is(
    hub: Any, client: Client, tiny: bytes, answer: Callable[..., httpx.Response]
) -> None:
    hub.on("POST", f"{MODEL}/commits", answer(409, "nothing_to_commit"))
    hub.on("GET", f"{MODEL}/revisions/main", {"oid": "ab" * 20})

    assert client.save(tiny, NAME, card=CARD).oid == "ab" * 20


def test_a_file_the_hub_cannot_use_is_an_error_with_its_code(
    hub: Any, client: Client, tiny: bytes
) -> None:
    failure = {"class": "invalid", "code": "onnx_truncated", "detail": "It ends early."}
    hub.on("GET", "/api/v1/jobs/j1", {**JOB, "state": "failed", "failure": failure})

    with pytest.raises(InvalidModelFile, match="It ends early") as refusal:
        client.save(tiny, NAME, card=CARD)
    assert refusal.value.code == "onnx_truncated"


def test_waiting_for_the_inspection_can_be_left_out(hub: Any, client: Client, tiny: bytes) -> None:
    client.save(tiny, NAME, card=CARD, wait=False)

    assert hub.calls("GET", "/api/v1/jobs/j1") == []


def test_a_commit_says_what_was_asked_for(
    hub: Any, client: Client, tiny: bytes, sent: Callable[..., Any]
) -> None:
    client.save(tiny, NAME, card=CARD, message="More epochs", branch="dev", visibility="private")

    assert sent(hub.calls("POST", "/api/v1/models")[0])["visibility"] == "private"
    commit = sent(hub.calls("POST", f"{MODEL}/commits")[0])
    assert (commit["message"], commit["branch"]) == ("More epochs", "dev")


def test_a_branch_that_is_not_there_grows_out_of_the_default_branch(
    hub: Any, client: Client, tiny: bytes, answer: Callable[..., httpx.Response], sent: Any
) -> None:
    replies = [answer(404, "revision_not_found"), {"oid": OID, "files": [], "jobs": []}]
    hub.on("POST", f"{MODEL}/commits", lambda _: replies.pop(0))
    hub.on("GET", MODEL, {"name": NAME, "default_branch": "trunk"})
    hub.on("PUT", f"{MODEL}/refs/branch/a/b", {})

    assert client.save(tiny, NAME, card=CARD, branch="a/b").oid == OID
    made = hub.calls("PUT", f"{MODEL}/refs/branch/a/b")
    assert sent(made[0]) == {"revision": "trunk"}


def test_a_new_branch_keeps_the_card_of_the_default_branch(
    hub: Any, client: Client, tiny: bytes, answer: Callable[..., httpx.Response]
) -> None:
    card = "---\nlicense: mit\n---\n# Mine\n"

    def readme(request: httpx.Request) -> httpx.Response:
        if "revision" in request.url.params:
            return answer(404, "revision_not_found")
        return httpx.Response(200, text=card)

    hub.on("GET", f"{MODEL}/files/README.md", readme)

    client.save(tiny, NAME, branch="run-7")

    assert stored(hub, "README.md") == card.encode()


def test_a_folder_goes_whole_with_its_own_card(
    hub: Any, client: Client, tiny: bytes, tmp_path: Path
) -> None:
    (tmp_path / "src" / "sub").mkdir(parents=True)
    (tmp_path / "src" / "model.onnx").write_bytes(tiny)
    (tmp_path / "src" / "sub" / "labels.txt").write_text("cat\ndog\n")
    (tmp_path / "src" / "README.md").write_text("---\nlicense: mit\n---\n# Mine\n")
    (tmp_path / "src" / ".git").mkdir()
    (tmp_path / "src" / ".git" / "HEAD").write_text("ref")

    client.save(tmp_path / "src", NAME)

    assert sorted(committed(hub)) == ["README.md", "model.onnx", "sub/labels.txt"]
    assert stored(hub, "README.md") == b"---\nlicense: mit\n---\n# Mine\n"


def test_examples_travel_as_samples_named_after_the_inputs(
    hub: Any, client: Client, tiny: bytes
) -> None:
    x = np.ones((5, 4), np.float32)

    client.save(tiny, NAME, card=CARD, example_inputs=x, labels=[0, 1, 2, 1, 0])  # type: ignore[arg-type]

    samples = np.load(io.BytesIO(stored(hub, "samples.npz")))
    assert sorted(samples.files) == ["inputs/x", "labels"]
    np.testing.assert_array_equal(samples["inputs/x"], x)
    assert samples["labels"].dtype == np.int64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": np.zeros(3)}, "Labels need the inputs"),
        ({"example_inputs": np.ones((2, 4)), "labels": np.zeros(3)}, "equally many rows"),
        ({"example_inputs": (np.ones(4), np.ones(4))}, "the model takes 1"),
        ({"example_inputs": {"x": np.float32(3)}}, "equally many rows"),
        ({"example_inputs": (np.ones((2, 4)), None)}, "Example input 2 is None"),
    ],
)
def test_examples_that_make_no_sense_are_refused_before_anything_is_sent(
    hub: Any, client: Client, tiny: bytes, given: Any, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        client.save(tiny, NAME, card=CARD, **given)
    assert hub.requests == []


@pytest.mark.parametrize("name", ["tiny", "lab/../tiny", "lab/ti ny"])
def test_a_name_that_is_none_is_refused_before_anything_is_sent(
    hub: Any, client: Client, tiny: bytes, name: str
) -> None:
    with pytest.raises(BadInput):
        client.save(tiny, name, card=CARD)
    assert hub.requests == []


def test_a_path_that_holds_nothing_is_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(NoModelFile):
        client.save(tmp_path / "nowhere.onnx", NAME, card=CARD)
    with pytest.raises(NoModelFile):
        client.save(tmp_path, NAME, card=CARD)


def test_an_object_nobody_exports_is_refused_with_what_is_taken(client: Client) -> None:
    with pytest.raises(NotSupported, match="onnx, sklearn"):
        client.save(object(), NAME, card=CARD)


def test_a_folder_with_a_name_no_hub_takes_is_refused(client: Client, tmp_path: Path) -> None:
    (tmp_path / "a\\b").write_bytes(b"x")

    with pytest.raises(UnsafePath):
        client.save(tmp_path, NAME, card=CARD)
