"""Inspection leaves a network with test tensors: those published with it, or made of it."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from registry.selectors.storage.blob import blob_open
from registry.states import JobKind, JobState
from registry.tables import Job, TestTensor, User
from tests.factories import make_mlmodel, readme, tiny_onnx
from workers.device import testtensor
from workers.engine.errors import CandidateFailed
from workers.jobs import run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def inspect(alice: User, files: dict[str, bytes | str]) -> Job:
    make_mlmodel("alice/net", actor=alice, files={"README.md": readme(), **files})
    run.drain([JobKind.INSPECT], here=None)
    job = Job.objects.get(kind=JobKind.INSPECT)
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    return job


def log(job: Job) -> str:
    return "\n".join(job.events.values_list("message", flat=True))


def tensor(row: TestTensor) -> Any:
    with blob_open(row.blob) as stream:
        return TensorProto.FromString(stream.read())


def serialised(array: Any, name: str = "") -> bytes:
    data: bytes = numpy_helper.from_array(array, name).SerializeToString()
    return data


def test_where_nobody_published_tests_some_are_made(alice: User) -> None:
    job = inspect(alice, {"model.onnx": tiny_onnx()})
    assert job.result["tests"] == 3
    assert job.result["tools"].keys() == {"hpcfair-hub", "onnx"}
    rows = list(TestTensor.objects.order_by("number", "side"))
    assert [(row.number, row.side, row.name, row.is_made) for row in rows] == [
        (number, side, name, True)
        for number in range(3)
        for side, name in (("input", "x"), ("output", "y"))
    ]
    given, come = (numpy_helper.to_array(tensor(row)) for row in rows[:2])
    assert tensor(rows[0]).name == "x"
    # What the network gives: a sum of its inputs times a half.
    np.testing.assert_allclose(come, np.repeat(given.sum(1, keepdims=True) * 0.5, 3, 1), 1e-6)


def test_published_tests_are_taken_as_they_are_if_they_fit(alice: User) -> None:
    right = np.repeat(X.sum(1, keepdims=True) * 0.5, 3, 1)
    job = inspect(
        alice,
        {
            "net/model.onnx": tiny_onnx(),
            "net/test_data_set_0/input_0.pb": serialised(X),
            "net/test_data_set_0/output_0.pb": serialised(right),
            "net/test_data_set_1/input_0.pb": serialised(X[:, :3]),
            "net/test_data_set_1/output_0.pb": serialised(right),
            # Not beside the network, so not of it.
            "test_data_set_2/input_0.pb": serialised(X),
        },
    )
    assert "test_data_set_1 is not used" in log(job)
    rows = TestTensor.objects.order_by("side")
    assert [(row.number, row.side, row.name, row.is_made) for row in rows] == [
        (0, "input", "x", False),
        (0, "output", "y", False),
    ]
    assert job.revision.files.get(path="net/test_data_set_0/input_0.pb").blob_id == rows[0].blob_id


def test_a_network_that_does_not_run_is_known_without_tests(alice: User) -> None:
    # Valid on paper; the Reshape cannot be done at run time.
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "broken",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.array([7, 13], np.int64), "shape")],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    job = inspect(alice, {"model.onnx": network.SerializeToString()})
    assert job.result["tests"] == 0
    assert "No test tensors: " in log(job)
    assert "Reshape" in log(job)


def test_a_network_that_never_ends_keeps_nobody_waiting_for_its_tests(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testtensor, "_RUN_WALL_S", 3.0)
    job = inspect(alice, {"model.onnx": endless()})
    assert job.result["tests"] == 0
    assert "No test tensors: no answer within 3 s" in log(job)


def test_tests_are_not_given_up_when_the_machine_fails_first(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> Any:
        raise CandidateFailed("infrastructure", "killed by another process", "memory")

    monkeypatch.setattr(testtensor, "_made", killed)
    files = {"README.md": readme(), "model.onnx": tiny_onnx()}
    make_mlmodel("alice/net", actor=alice, files=files)
    run.drain([JobKind.INSPECT], here=None)
    job = Job.objects.get(kind=JobKind.INSPECT)
    assert (job.state, job.fence) == (JobState.QUEUED, 1)
    assert "killed by another process" in log(job)
    monkeypatch.setattr(testtensor, "_REPEATED_CLAIMS", 1)
    Job.objects.update(not_before=None)
    run.drain([JobKind.INSPECT], here=None)
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    assert "No test tensors: killed by another process" in log(job)


def endless() -> bytes:
    """``float32[4] -> float32[4]`` by a loop of 2**62 turns."""
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["again"]), helper.make_node("Sin", ["v"], ["w"])],
        "turn",
        [info("turn", TensorProto.INT64, []), info("on", TensorProto.BOOL, []),
         info("v", TensorProto.FLOAT, [4])],
        [info("again", TensorProto.BOOL, []), info("w", TensorProto.FLOAT, [4])],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Loop", ["turns", "yes", "x"], ["y"], body=body)],
        "endless",
        [info("x", TensorProto.FLOAT, [4])],
        [info("y", TensorProto.FLOAT, [4])],
        [numpy_helper.from_array(np.int64(2**62), "turns"),
         numpy_helper.from_array(np.array(1, bool), "yes")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(made.SerializeToString())
