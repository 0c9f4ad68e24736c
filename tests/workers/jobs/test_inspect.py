"""Inspection jobs over real files in a real limited child process."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from registry.services.work.attempt import job_claim
from registry.states import JobKind, JobState
from registry.tables import Graph, Job, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme, tiny_onnx
from tests.registry import shopfloor
from workers.jobs import run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def inspect(mlmodel: MLModel) -> Job:
    """Do the newest revision's inspection as a worker does; the job afterwards."""
    run.drain([JobKind.INSPECT], here=None)
    return Job.objects.filter(kind=JobKind.INSPECT, revision__mlmodel=mlmodel).latest("id")


def publish(alice: User, files: dict[str, bytes | str]) -> MLModel:
    return make_mlmodel("alice/net", actor=alice, files={"README.md": readme(), **files})


def external(location: str) -> bytes:
    """A network whose one weight lies in another file."""
    weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "weight")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["y"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [weight],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(network.SerializeToString())


def test_facts_are_read_and_searches_planned(alice: User) -> None:
    target, _ = shopfloor.make_machine()
    job = inspect(publish(alice, {"model.onnx": tiny_onnx()}))
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    graph = Graph.objects.get()
    assert (graph.is_primary, graph.parameters, graph.macs) == (True, 12, 12)
    assert graph.signature["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["N", 4]}]
    planned = Job.objects.get(kind=JobKind.TUNE)
    assert (planned.target, planned.revision) == (target, job.revision)


def test_external_data_is_taken_nothing_stays_on_disk_and_without_a_target_nothing_is_planned(
    alice: User, data_dir: Path
) -> None:
    weights = np.ones((4, 3), np.float32).tobytes()
    files: dict[str, bytes | str] = {"model.onnx": external("w.bin"), "w.bin": weights}
    job = inspect(publish(alice, files))
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert Graph.objects.get().facts["external_data"] == ["w.bin"]
    assert not Job.objects.filter(kind=JobKind.TUNE).exists()
    assert not list((data_dir / "work").iterdir())


def test_bad_files_fail_with_their_codes_and_the_worker_lives(alice: User, data_dir: Path) -> None:
    mlmodel = publish(alice, {})
    for content, code in (
        (b"This is no network.\n" * 10, "onnx_unreadable"),
        (tiny_onnx()[:-20], "onnx_truncated"),
        (external("../../../../etc/passwd"), "external_data_escapes"),
        (external("/etc/passwd"), "external_data_escapes"),
        (external("w.bin"), "external_data_missing"),
    ):
        commit_files(mlmodel, {"model.onnx": content}, actor=alice)
        job = inspect(mlmodel)
        assert (job.state, job.failure_code) == (JobState.FAILED, code), job.failure_detail
        assert job.failure_detail
    assert not Graph.objects.exists()
    assert not list((data_dir / "work").iterdir())
    commit_files(mlmodel, {"model.onnx": tiny_onnx()}, actor=alice)
    assert inspect(mlmodel).state == JobState.SUCCEEDED


def test_a_hub_without_jobs_claims_nothing(db: None) -> None:
    assert job_claim(device_name=None, kinds=[JobKind.INSPECT], target=None) is None
    assert run.drain([JobKind.INSPECT], here=None) == 0


def test_the_network_of_the_tests_is_valid() -> None:
    onnx.checker.check_model(onnx.load_model_from_string(tiny_onnx()))
