"""Inspection jobs over real files in a real limited child process."""

import io
import resource
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.tickets import FileTicket
from registry.services.repository.mlmodel import mlmodel_create
from registry.services.work.attempt import job_claim
from registry.states import JobKind, JobState
from registry.tables import Graph, Job, MLModel, User
from tests.factories import commit_files, make_mlmodel, readme, tiny_onnx
from tests.registry import shopfloor
from workers.jobs import inspect as inspect_job
from workers.jobs import run
from workers.jobs.hub import RegistryHub

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


def unopenable() -> bytes:
    """A network that is valid ONNX, with an operator version that no runtime has."""
    network = onnx.load_from_string(tiny_onnx())
    network.graph.node[0].domain = "com.microsoft"
    network.graph.node[0].op_type = "FusedMatMul"
    network.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    weight = network.graph.initializer[0]
    weight.CopyFrom(numpy_helper.from_array(np.ones((4, 3), np.int8), weight.name))
    return bytes(network.SerializeToString())


def held(alice: User, files: dict[str, bytes | str | None]) -> MLModel:
    mlmodel = mlmodel_create(actor=alice, namespace="alice", name="net", hold=True)
    commit_files(mlmodel, {"README.md": readme(), **files}, actor=alice)
    return mlmodel


def test_a_network_that_does_not_open_fails_is_not_searched_and_stays_private(alice: User) -> None:
    shopfloor.make_machine()
    mlmodel = held(alice, {"model.onnx": unopenable()})
    job = inspect(mlmodel)
    assert (job.state, job.failure_class) == (JobState.FAILED, "invalid")
    assert job.failure_code == "network_fails"
    assert "model.onnx does not open in onnxruntime" in job.failure_detail
    assert Graph.objects.get().is_primary
    assert not Job.objects.filter(kind=JobKind.TUNE).exists()
    mlmodel.refresh_from_db()
    assert (mlmodel.visibility, mlmodel.is_held) == ("private", True)


def test_a_new_model_is_public_when_its_inspection_has_passed(alice: User) -> None:
    mlmodel = held(alice, {"model.onnx": tiny_onnx()})
    job = inspect(mlmodel)
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    mlmodel.refresh_from_db()
    assert (mlmodel.visibility, mlmodel.is_held) == ("public", False)


def test_samples_that_do_not_fit_keep_a_new_model_private(alice: User) -> None:
    stream = io.BytesIO()
    np.savez(stream, **{"inputs/x": np.ones((5, 4))})  # type: ignore[arg-type]
    files: dict[str, bytes | str | None] = {"model.onnx": tiny_onnx()}
    mlmodel = held(alice, {**files, "samples.npz": stream.getvalue()})
    job = inspect(mlmodel)
    assert (job.state, job.failure_code) == (JobState.FAILED, "samples_unreadable")
    assert "inputs/x is float64, the model has float32" in job.failure_detail
    commit_files(mlmodel, {"samples.npz": None}, actor=alice)
    assert inspect(mlmodel).state == JobState.SUCCEEDED
    mlmodel.refresh_from_db()
    assert mlmodel.visibility == "public"


def test_of_large_files_only_those_that_a_network_needs_are_copied(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_job, "_SMALL_BYTES", 20)
    copied: list[str] = []
    kept = RegistryHub.fetch

    def fetch(hub: RegistryHub, files: Iterable[FileTicket], folder: Path) -> None:
        files = list(files)
        # Test tensors are made of copies in other folders.
        copied.extend(file.path for file in files if folder.name == "files")
        kept(hub, files, folder)

    monkeypatch.setattr(RegistryHub, "fetch", fetch)
    weights = np.ones((4, 3), np.float32).tobytes()
    files: dict[str, bytes | str] = {
        "onnx/model.onnx": external("./w.bin"),
        "onnx/w.bin": weights,
        "w.bin": weights,
        "broken.onnx": b"no network",
        "model.safetensors": bytes(10_000),
        "tiny.txt": "tiny",
    }
    job = inspect(publish(alice, files))
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert sorted(copied) == ["broken.onnx", "onnx/model.onnx", "onnx/w.bin", "tiny.txt"]
    assert Graph.objects.get().facts["external_data"] == ["onnx/w.bin"]


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


def declaring(
    inputs: list[int], outputs: list[int | str | None], factor: list[int] | None = None
) -> bytes:
    """A network of few bytes that declares tensors of any size."""
    info = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"])
    stored = []
    if factor is not None:
        node = helper.make_node("Expand", ["x", "shape"], ["y"])
        stored = [numpy_helper.from_array(np.array(factor, np.int64), "shape")]
    graph = helper.make_graph(
        [node],
        "g",
        [info("x", TensorProto.FLOAT, inputs)],
        [info("y", TensorProto.FLOAT, outputs)],
        stored,
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(network.SerializeToString())


@pytest.mark.parametrize(
    ("network", "parts"),
    [
        (declaring([1, 2**40], [1, 2**40]), ("inputs", "4 TiB", "float32[1, 1,099,511,627,776]")),
        (declaring([2**20, 400], [2**20, 400]), ("inputs", "1.5 GiB")),
        (declaring([2**62] * 8, [2**62] * 8), ("inputs", "EiB")),
        (declaring([1], [2**40], [2**40]), ("outputs", "4 TiB")),
        (declaring([1], [None], [2**40]), ("outputs", "4 TiB")),
    ],
    ids=["declared", "moderate", "absurd", "expanded", "inferred"],
)
def test_tensors_that_nobody_can_hold_are_refused_once(
    alice: User, network: bytes, parts: tuple[str, ...]
) -> None:
    shopfloor.make_machine()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    job = inspect(publish(alice, {"model.onnx": network}))
    assert (job.state, job.failure_class, job.failure_code, job.attempt) == (
        JobState.FAILED, "invalid", "tensors_too_large", 1
    ), job.failure_detail  # fmt: skip
    for part in (*parts, "at most 256 MiB", "Export the network"):
        assert part in job.failure_detail
    assert not Job.objects.filter(kind=JobKind.TUNE).exists()
    # In KiB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**18


def test_outputs_that_show_their_size_when_they_run_are_refused_once(alice: User) -> None:
    for factor, reason in ((2**40, "memory"), (2**27, "outputs of one run take 512 MiB")):
        mlmodel = make_mlmodel(
            f"alice/by-{factor}",
            actor=alice,
            files={"README.md": readme(), "model.onnx": declaring([1], ["any"], [factor])},
        )
        job = inspect(mlmodel)
        assert (job.state, job.attempt, job.result["tests"]) == (JobState.SUCCEEDED, 1, 0)
        notes = "\n".join(job.events.values_list("message", flat=True))
        assert "No test tensors: " in notes
        assert reason in notes


def test_warnings_of_a_thousand_files_are_a_hundred_lines(alice: User) -> None:
    names = [f"variant-{number}.onnx" for number in range(150)]
    files: dict[str, bytes | str] = {"model.onnx": tiny_onnx(), **dict.fromkeys(names, b"\x08\x07")}
    job = inspect(publish(alice, files))
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert len(job.result["warnings"]) == 100
    assert job.result["warnings"][-1] == "51 more warnings."


def test_a_hub_without_jobs_claims_nothing(db: None) -> None:
    assert job_claim(device_name=None, kinds=[JobKind.INSPECT], target=None) is None
    assert run.drain([JobKind.INSPECT], here=None) == 0


def test_the_network_of_the_tests_is_valid() -> None:
    onnx.checker.check_model(onnx.load_model_from_string(tiny_onnx()))
