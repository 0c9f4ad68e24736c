"""Loading from a live hub: before inspection, before tuning, without the hub."""

import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.client import Client
from hpcfair.errors import ModelNotFound, NotFound, RevisionNotFound
from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning
from registry.tables import MLModel, User
from tests.factories import tiny_onnx
from tests.programs import needs
from workers.testing.tflite import Layer, write_dense

NAME = "alice/tiny"
CARD = {"license": "apache-2.0"}
X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)


@pytest.fixture
def tiny(as_alice: Client, inspector: None) -> str:
    """A model that is inspected and not tuned; its revision."""
    return as_alice.save(tiny_onnx(), NAME, card=CARD).oid


def test_an_untuned_model_runs_as_it_is_and_says_so_unless_asked_for(
    as_alice: Client, tiny: str
) -> None:
    with pytest.warns(PlainModelWarning, match=NAME):
        model = as_alice.load(NAME)

    np.testing.assert_allclose(model(X), Y)
    assert model.revision == tiny
    assert str(model.signature) == "float32[N,4] -> float32[N,3]"
    assert "the plain model" in model.explain()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlainModelWarning)
        plain = as_alice.load(NAME, target=None)
        np.testing.assert_allclose(plain(X), Y)
    assert plain.folder is None


def test_the_files_of_a_tokeniser_come_with_the_model(
    as_alice: Client, inspector: None, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny_onnx())
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    (tmp_path / "notes.txt").write_text("for me")
    as_alice.save(tmp_path, NAME, card=CARD)
    folder = as_alice.load(NAME, target=None).folder
    assert folder is not None
    assert {path.name for path in folder.iterdir()} == {"tokenizer.json"}
    assert (folder / "tokenizer.json").read_text() == '{"version": "1.0"}'


def test_a_revision_stays_what_it_was_and_others_are_not_found(as_alice: Client, tiny: str) -> None:
    as_alice.save(tiny_onnx(scale=2), NAME)

    np.testing.assert_allclose(as_alice.load(NAME, target=None, revision=tiny)(X), Y)
    np.testing.assert_allclose(as_alice.load(NAME, target=None)(X), Y * 4)
    with pytest.raises(RevisionNotFound):
        as_alice.load(NAME, revision="v9")
    with pytest.raises(ModelNotFound):
        as_alice.load("alice/nothing")


def test_what_the_hub_has_not_inspected_it_does_not_hand_out(as_alice: Client) -> None:
    as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)

    with pytest.raises(NotFound, match="inspection") as refusal:
        as_alice.load(NAME)
    assert refusal.value.code == "graph_not_found"


def test_a_private_model_is_loaded_by_its_members_alone(
    client_of: Callable[..., Client], alice: User, charlie: User, secret: MLModel, inspector: None
) -> None:
    member = client_of(charlie)
    member.save(tiny_onnx(), "lab/secret")

    np.testing.assert_allclose(member.load("lab/secret", target=None)(X), Y)
    with pytest.raises(ModelNotFound):
        client_of(alice).load("lab/secret", target=None)


def test_a_broken_download_goes_on_at_the_hubs_own_ranges_and_the_last_answer_counts_offline(
    as_alice: Client, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tiny_onnx()
    files = {file.path: file for file in as_alice.info(NAME).files}
    cache, digest = as_alice.cache, files["model.onnx"].sha256
    rest = cache.partials.start(digest)
    rest.write_bytes(data[:100])
    cache.partials.leave(rest)
    requests: list[Any] = []
    ask = as_alice.http.open

    def listen(*args: Any, **more: Any) -> Any:
        requests.append(more.get("headers"))
        return ask(*args, **more)

    monkeypatch.setattr(as_alice.http, "open", listen)

    model = as_alice.load(NAME, target=None)

    np.testing.assert_allclose(model(X), Y)
    assert requests[-1]["Range"] == "bytes=100-"
    assert cache.blob(digest).read_bytes() == data

    config = dataclasses.replace(as_alice.config, offline=True)
    with Client(config=config) as offline:
        with pytest.warns(StaleAnswerWarning):
            model = offline.load(NAME, target=None)
        np.testing.assert_allclose(model(X), Y)
        (hit,) = offline.search('license:apache-2.0 signature:"float32[2,4]"')
        assert (hit.name, hit.parameters, hit.revision) == (NAME, 12, tiny)


@needs("ai_edge_litert")
def test_a_tensorflow_lite_file_alone_is_loaded_as_it_is(
    as_alice: Client, inspector: None, tmp_path: Path
) -> None:
    layer = Layer(np.full((4, 3), 0.5, np.float32), np.zeros(3, np.float32))
    path = write_dense(tmp_path / "net.tflite", [layer])
    as_alice.save(path, "alice/lite", card=CARD, example_inputs=X)

    np.testing.assert_allclose(as_alice.load("alice/lite", target=None)(X), Y)
