"""Loading: one question, verified files, a model that runs and explains itself."""

import dataclasses
import threading
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from hpcfair import machine
from hpcfair.cache import Cache
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import (
    BadInput,
    Corrupt,
    MissingPackage,
    ModelNotFound,
    Offline,
    UnsafePath,
)
from hpcfair.record import record_id
from hpcfair.resolution import PlainModelWarning, StaleAnswerWarning
from hpcfair.runtimes import registry

X = np.arange(8, dtype=np.float32).reshape(2, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)
RESOLVE = "/api/v1/models/lab/tiny/resolve"


def make_plain(resolution: dict[str, Any]) -> None:
    resolution |= {
        "build": None,
        "record_id": None,
        "reason": "No build for x86-64-baseline yet.",
    }


def test_a_loaded_model_runs(client: Client, resolution: dict[str, Any]) -> None:
    with client.load("lab/tiny") as model:
        np.testing.assert_allclose(model(X), Y)
        np.testing.assert_allclose(model(x=X), Y)
        np.testing.assert_allclose(model({"x": X}), Y)


def test_loading_asks_the_hub_once_and_fetches_the_files(
    hub: Any, client: Client, resolution: dict[str, Any], sent: Callable[..., Any]
) -> None:
    client.load("lab/tiny", revision="v2", tolerance="int8")

    assert [request.method for request in hub.requests] == ["POST", "GET"]
    asked = sent(hub.requests[0])
    assert (asked["revision"], asked["tolerance"]) == ("v2", "int8")
    assert asked["machine"]["architecture"] == machine.describe().architecture
    assert asked["runtimes"] == registry.installed()


def test_the_build_and_its_signature_are_at_hand(
    client: Client, resolution: dict[str, Any]
) -> None:
    model = client.load("lab/tiny")

    assert model.build is not None
    assert model.build.runtime_options == {"threads": "one"}
    assert str(model.signature) == "float32[N,4] -> float32[N,3]"
    assert repr(model) == "<lab/tiny float32[N,4] -> float32[N,3]: onnxruntime build>"


def test_a_wrong_input_is_refused_before_it_runs(
    client: Client, resolution: dict[str, Any]
) -> None:
    model = client.load("lab/tiny")

    with pytest.raises(BadInput, match="astype"):
        model(X.astype(np.float64))


def test_run_returns_every_output_by_name(client: Client, resolution: dict[str, Any]) -> None:
    outputs = client.load("lab/tiny").run(X)

    assert list(outputs) == ["y"]
    np.testing.assert_allclose(outputs["y"], Y)


def test_threads_may_share_a_model(client: Client, resolution: dict[str, Any]) -> None:
    model = client.load("lab/tiny")
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda i=i: results.append((i, model(X + i)))) for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for i, y in results:
        np.testing.assert_allclose(y[:, 0], (X + i).sum(axis=1) * 0.5)
    assert len(results) == 8


def test_without_a_build_the_plain_model_runs_and_says_so(
    client: Client, resolution: dict[str, Any]
) -> None:
    make_plain(resolution)

    with pytest.warns(PlainModelWarning, match="No build for x86-64-baseline"):
        model = client.load("lab/tiny")

    np.testing.assert_allclose(model(X), Y)
    assert model.build is None
    assert model.record is None
    assert "the plain model" in model.explain()
    assert "No build for x86-64-baseline" in model.explain()


def test_the_plain_model_can_be_asked_for(
    hub: Any, client: Client, resolution: dict[str, Any], sent: Callable[..., Any]
) -> None:
    make_plain(resolution)

    client.load("lab/tiny", target=None)

    assert sent(hub.requests[0])["runtimes"] == {}


def test_another_target_of_this_machine_can_be_asked_for(
    hub: Any, client: Client, resolution: dict[str, Any], sent: Callable[..., Any]
) -> None:
    lowest = next(t for t in machine.TARGETS if t.architecture == machine.describe().architecture)

    client.load("lab/tiny", target=lowest.slug)

    assert sent(hub.requests[0])["machine"]["features"] == list(lowest.features)


def test_a_target_this_machine_cannot_run_is_refused(hub: Any, client: Client) -> None:
    foreign = next(t for t in machine.TARGETS if t.architecture != machine.describe().architecture)

    with pytest.raises(BadInput, match=f"cannot run {foreign.slug}"):
        client.load("lab/tiny", target=foreign.slug)
    assert hub.requests == []


@pytest.mark.parametrize("asked", [{"target": "pdp-11"}, {"tolerance": "fp3"}])
def test_unknown_words_are_refused_with_those_known(client: Client, asked: Any) -> None:
    with pytest.raises(BadInput, match=r"exact|x86-64"):
        client.load("lab/tiny", **asked)


def test_explain_tells_choice_reason_numbers_and_alternatives(
    client: Client, resolution: dict[str, Any]
) -> None:
    other = {**resolution["build"], "tolerance": "int8", "ratio": 0.3}
    resolution["alternatives"] = [other, {**other, "is_baseline": True, "tolerance": "exact"}]

    text = client.load("lab/tiny").explain()

    for part in (
        "lab/tiny at revision 3f786850e387",
        "onnxruntime threads=one [exact]",
        "It is the fastest.",
        "0.84 ms median",
        "0.610 of the baseline's time (95 % interval 0.590 to 0.630), 1.38 ms in the same run",
        "relative L2 3.1e-08, largest difference 6.2e-08 of max |ref| (max |y - ref| 1.2e-07)",
        "97.00% (reference 98.00%)",
        "ab" * 32,
        "onnxruntime threads=one [int8]",
        "the baseline",
    ):
        assert part in text


def test_explain_names_the_runtime_that_latencies_are_compared_with(
    client: Client, resolution: dict[str, Any]
) -> None:
    base = {**resolution["build"], "is_baseline": True, "backend": "litert"}
    resolution["alternatives"] = [base]
    assert "litert with nothing set" in client.load("lab/tiny").explain()


def test_without_the_hub_the_last_answer_counts(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    client.load("lab/tiny")
    hub.faults = [httpx.ConnectError("refused")] * 4

    with pytest.warns(StaleAnswerWarning, match="does not answer.*Using the answer of 20"):
        model = client.load("lab/tiny")

    np.testing.assert_allclose(model(X), Y)
    assert "The hub could not be asked; this is its answer of 20" in model.explain()


def test_offline_nothing_is_asked_and_the_last_answer_counts(
    hub: Any, client: Client, resolution: dict[str, Any], config: Config
) -> None:
    client.load("lab/tiny")
    hub.requests.clear()
    offline = Client(config=dataclasses.replace(config, offline=True), transport=hub)

    with pytest.warns(StaleAnswerWarning):
        model = offline.load("lab/tiny")

    np.testing.assert_allclose(model(X), Y)
    assert hub.requests == []


def test_offline_without_a_last_answer_says_so(hub: Any, config: Config) -> None:
    offline = Client(config=dataclasses.replace(config, offline=True), transport=hub)

    with pytest.raises(Offline):
        offline.load("lab/tiny")


def test_the_last_answer_to_another_question_does_not_count(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    client.load("lab/tiny")
    hub.faults = [httpx.ConnectError("refused")] * 4

    with pytest.raises(ConnectionError):
        client.load("lab/tiny", tolerance="int8")


def test_a_refusal_is_not_covered_up_by_the_last_answer(
    hub: Any,
    client: Client,
    resolution: dict[str, Any],
    answer: Callable[..., httpx.Response],
) -> None:
    client.load("lab/tiny")
    hub.on("POST", RESOLVE, answer(404, "model_not_found"))

    with pytest.raises(ModelNotFound):
        client.load("lab/tiny")


def test_an_entry_point_outside_the_files_is_not_opened(
    client: Client, resolution: dict[str, Any]
) -> None:
    resolution["entry_point"] = "../../../../etc/passwd"

    with pytest.raises(UnsafePath):
        client.load("lab/tiny")


def test_without_a_runtime_the_hint_names_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "installed", dict)

    with pytest.raises(MissingPackage, match=r"No runtime.*pip install 'hpcfair\[run\]'"):
        client.load("lab/tiny")


def test_the_record_behind_a_build_is_fetched_once_and_verified(
    hub: Any, client: Client, resolution: dict[str, Any], config: Config
) -> None:
    document: dict[str, Any] = {"schema": "hpcfair.bench/1", "target": {"slug": "x"}}
    name = record_id(document)
    document["record_id"] = name
    resolution["record_id"] = name
    hub.on("GET", f"/api/v1/records/{name}", document)
    model = client.load("lab/tiny")

    assert model.record is not None
    assert model.record.target == "x"
    assert model.record.id == name
    assert len(hub.calls("GET", f"/api/v1/records/{name}")) == 1
    assert Cache(config.cache).document(name) == document


def test_a_record_that_is_not_what_its_name_says_is_refused(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    hub.on("GET", f"/api/v1/records/{'ab' * 32}", {"schema": "hpcfair.bench/1"})

    with pytest.raises(Corrupt, match="does not match its name"):
        _ = client.load("lab/tiny").record
