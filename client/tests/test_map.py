"""A stream of samples runs through the batches and streams of a build, and comes out in order."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hpcfair import machine
from hpcfair.client import Client
from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.loaded import Loaded

X = np.arange(40, dtype=np.float32).reshape(10, 4)
Y = np.repeat(X.sum(axis=1, keepdims=True) * 0.5, 3, axis=1)


@pytest.fixture
def offline(client: Client, build: dict[str, Any], resolution: dict[str, Any]) -> Iterator[Loaded]:
    """The model, whose build was measured with three samples a batch and a stream for each core."""
    build |= {
        "scenario": "offline",
        "execution": {"batch": 3, "streams": "cores"},
        "throughput_per_s": 5000.0,
        "runtime_options": {"threads": "one"},
    }
    with client.load("lab/tiny", scenario="offline") as model:
        yield model


@pytest.fixture
def batches(offline: Loaded, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the batches of one stream, in order."""
    sizes: list[int] = []
    here = replace(machine.describe(), cores=1)
    monkeypatch.setattr(machine, "describe", lambda: here)
    run = offline._runner.runtime.run

    def watched(inputs: Any) -> Any:
        sizes.append(len(inputs["x"]))
        return run(inputs)

    monkeypatch.setattr(offline._runner.runtime, "run", watched)
    return sizes


def test_samples_come_out_in_order_whatever_they_come_in(offline: Loaded) -> None:
    for items in (X, list(X), iter(X), ({"x": row} for row in X), X.tolist()):
        np.testing.assert_allclose(np.stack(list(offline.map(items))), Y)
    outputs = list(offline.map([X[:7], X[7], X[8:]]))
    assert [each.shape for each in outputs] == [(7, 3), (3,), (2, 3)]
    np.testing.assert_allclose(np.concatenate([np.atleast_2d(each) for each in outputs]), Y)


def test_batches_have_the_recorded_size_and_the_last_is_partial(
    offline: Loaded, batches: list[int]
) -> None:
    list(offline.map(X))
    assert batches == [3, 3, 3, 1]
    batches.clear()
    list(offline.map([X[:4], X[4], X[5:]], batch=5))
    assert batches == [5, 5]


@pytest.fixture
def single(resolution: dict[str, Any]) -> None:
    """The model is published for one row."""
    resolution["signature"] = {
        side: [tensor | {"shape": [1, *tensor["shape"][1:]]} for tensor in tensors]
        for side, tensors in resolution["signature"].items()
    }


@pytest.mark.usefixtures("single")
def test_a_build_of_any_number_of_rows_computes_batches_of_a_model_of_one_row(
    offline: Loaded, batches: list[int]
) -> None:
    assert str(offline.signature) == "float32[1,4] -> float32[1,3]"
    for items in (X, list(X), [X[:7], X[7], X[8:]]):
        outputs = list(offline.map(items))
        np.testing.assert_allclose(np.concatenate([np.atleast_2d(each) for each in outputs]), Y)
        assert batches == [3, 3, 3, 1]
        batches.clear()
    np.testing.assert_allclose(offline(X[:1]), Y[:1])
    np.testing.assert_allclose(offline(X), Y)
    assert batches == [1] * 11
    with pytest.raises(BadInput, match="Item 0: input x"):
        list(offline.map([X[:, :2]]))


@pytest.mark.usefixtures("single")
def test_a_build_of_one_row_computes_each_row_on_its_own(
    offline: Loaded, batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    splitter = offline._splitter
    assert splitter is not None
    monkeypatch.setattr(splitter, "_is_build_open", False)
    np.testing.assert_allclose(np.stack(list(offline.map(X))), Y)
    assert batches == [1] * 10


def test_few_samples_are_read_ahead_of_an_endless_stream(offline: Loaded) -> None:
    read = 0

    def endless() -> Iterator[Any]:
        nonlocal read
        for read in itertools.count():
            yield X[read % 10]

    outputs = offline.map(endless())
    for number in range(5):
        np.testing.assert_allclose(next(outputs), Y[number])
    assert read < 5 + 3 * 3 * (machine.describe().cores + 1)
    outputs.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([X[0], X[1][:2]], "Item 1: input x"),
        ([X[0], X[1].astype(np.int64)], "Item 1: input x"),
        (X[0], "one array of 1 dimensions"),
        ({"x": X}, "not one mapping"),
        ([X[:0]], "rows"),
        ([{"z": X[0]}], "Item 0"),
    ],
)
def test_unfit_items_are_refused_with_their_number(
    offline: Loaded, items: Any, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        list(offline.map(items))


def test_ragged_samples_cannot_share_a_batch(offline: Loaded) -> None:
    ragged = [np.ones(4, np.float32), np.ones(5, np.float32)]
    dynamic = offline.signature.from_json(
        {
            "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", "T"]}],
            "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
        }
    )
    offline.signature = dynamic
    with pytest.raises(BadInput, match=r"Item 1: its 'x' is .*batch=1"):
        list(offline.map(ragged))
    with pytest.raises(BadInput, match="batch is 0"):
        offline.map(ragged, batch=0)


def test_outputs_that_are_not_by_row_are_an_error(
    offline: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = np.ones((1, 3), np.float32)
    monkeypatch.setattr(offline._runner.runtime, "run", lambda _: {"y": np.concatenate([one] * 4)})
    with pytest.raises(RuntimeFailed, match="not one row for each sample"):
        list(offline.map(X[:3], batch=3))


def test_without_a_scenario_items_run_as_they_are(
    client: Client, resolution: dict[str, Any]
) -> None:
    with client.load("lab/tiny") as model:
        assert model.execution is None
        assert [each.shape for each in model.map([X[:7], X[7]])] == [(7, 3), (3,)]
        np.testing.assert_allclose(np.stack(list(model.map(X))), Y)


def test_the_scenario_is_asked_for_and_explained(
    offline: Loaded, hub: Any, sent: Callable[..., Any]
) -> None:
    assert sent(hub.requests[0])["scenario"] == "offline"
    assert "offline: 5000 samples/s, batch 3, one stream per core" in offline.explain()


def test_an_unknown_scenario_is_refused(client: Client) -> None:
    with pytest.raises(BadInput, match="no scenario 'batch'"):
        client.load("lab/tiny", scenario="batch")  # type: ignore[arg-type]


def test_a_closed_model_runs_no_stream(offline: Loaded) -> None:
    offline.close()
    with pytest.raises(RuntimeFailed, match="closed"):
        list(offline.map(X))
