"""What a machine is told to load."""

from typing import Any

from django.utils import timezone

from registry.services.work.attempt import job_fail
from registry.states import FailureClass
from registry.tables import Build, MLModel, Reproduction
from tests.factories import commit_files, tiny_onnx
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene
from tests.registry import shopfloor

PATH = "models/lab/galaxy-cnn/resolve"


def question(**changes: Any) -> dict[str, Any]:
    machine = {"architecture": "x86-64", "features": ["avx2", "fma"], "cores": 8, "os": "linux"}
    return {"machine": machine, "runtimes": {"onnxruntime": "1.31.1"}, **changes}


def test_the_fastest_build_is_the_answer(anonymous: Api, scene: Scene) -> None:
    answer = anonymous.post(PATH, question()).ok()
    assert answer["build"]["uuid"] == str(scene.fast.uuid)
    assert answer["build"]["is_best"]
    assert answer["revision"] == scene.revision.oid
    assert answer["record_id"] == scene.record.pk
    assert answer["entry_point"] == "model.ort"
    assert answer["model_file"] == "model.onnx"
    assert answer["signature"] == scene.graph.signature
    assert answer["files"] == answer["build"]["files"]
    assert [build["uuid"] for build in answer["alternatives"]] == [str(scene.baseline.uuid)]
    assert scene.target.slug in answer["reason"]


def test_a_build_that_gives_other_outputs_when_run_again_is_not_the_answer(
    anonymous: Api, scene: Scene
) -> None:
    Reproduction.objects.create(build=scene.fast, toolchain="0" * 64, outcome="differs")
    answer = anonymous.post(PATH, question()).ok()
    assert answer["build"]["uuid"] == str(scene.baseline.uuid)
    (other,) = answer["alternatives"]
    assert (other["uuid"], other["reproduced"], other["is_best"]) == (
        str(scene.fast.uuid),
        False,
        False,
    )
    assert "gave other outputs" in answer["reason"]


def test_without_a_build_that_fits_the_plain_model_is_the_answer(
    anonymous: Api, scene: Scene
) -> None:
    cases: list[dict[str, Any]] = [
        {"runtimes": {}},
        {"machine": {"architecture": "arm64", "features": ["neon"]}},
        {"machine": {"architecture": "x86-64", "features": []}},
    ]
    for changes in cases:
        answer = anonymous.post(PATH, question(**changes)).ok()
        assert answer["build"] is None, changes
        assert answer["record_id"] is None, changes
        assert answer["reason"], changes
        assert answer["entry_point"] == "model.onnx", changes
        (file,) = answer["files"]
        assert anonymous.get(file["url"]).content == tiny_onnx(), changes


def test_external_data_comes_with_the_plain_model(anonymous: Api, galaxy: MLModel) -> None:
    revision = commit_files(galaxy, {"model.onnx.data": b"weights", "other.bin": b"other"})
    graph = shopfloor.make_graph(revision)
    graph.facts["external_data"] = ["model.onnx.data"]
    graph.save()
    answer = anonymous.post(PATH, question()).ok()
    assert [file["path"] for file in answer["files"]] == ["model.onnx", "model.onnx.data"]


def test_a_revision_can_be_asked_for(anonymous: Api, scene: Scene) -> None:
    commit_files(scene.mlmodel, {"model.onnx": tiny_onnx(features=9)})
    assert anonymous.post(PATH, question()).code == "graph_not_found"
    before = anonymous.post(PATH, question(revision=scene.revision.oid[:8])).ok()
    assert before["build"]["uuid"] == str(scene.fast.uuid)
    assert anonymous.post(PATH, question(revision="x")).code == "revision_not_found"


def test_bytes_nobody_has_inspected_are_not_handed_out_to_run(
    anonymous: Api, galaxy: MLModel
) -> None:
    answer = anonymous.post(PATH, question())
    assert (answer.status, answer.code) == (404, "graph_not_found")
    assert "not ended" in answer.json["hint"]


def test_a_failed_inspection_is_the_reason_given(anonymous: Api, galaxy: MLModel) -> None:
    ticket = shopfloor.job_claim(device_name=None, kinds=list(shopfloor.JobKind), target=None)
    assert ticket is not None
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.INVALID,
        code="onnx_truncated",
        detail="The file ends early.",
    )
    answer = anonymous.post(PATH, question())
    assert "onnx_truncated" in answer.json["hint"]
    assert "The file ends early." in answer.json["hint"]


def test_a_question_that_makes_no_sense_is_refused(anonymous: Api, galaxy: MLModel) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tolerance": "sloppy"}, "tolerance"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"tolerance": 1.1}, "tolerance"),
        ({"tolerance": True}, "tolerance"),
        ({"tolerance": {}}, "tolerance"),
        ({"tolerance": None}, "tolerance"),
        ({"min_accuracy": 1.5}, "min_accuracy"),
        ({"min_accuracy": "nan"}, "min_accuracy"),
        ({"min_accuracy": True}, "min_accuracy"),
        ({"tolerance": "0.01"}, "tolerance"),
        ({"machine": {"features": []}}, "machine.architecture"),
        ({"machine": None}, "machine"),
        ({"runtimes": ["onnxruntime"]}, "runtimes"),
        ({"target": "x"}, "target"),
    ]
    for changes, field in cases:
        answer = anonymous.post(PATH, question(**changes))
        assert (answer.status, answer.code) == (400, "invalid_request"), changes
        assert list(answer.json["fields"]) == [field], changes
    # No database stores it, so no operation is asked.
    answer = anonymous.post(PATH, question(tolerance=10**400))
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_limits_are_a_class_a_number_or_a_least_accuracy(anonymous: Api, scene: Scene) -> None:
    deviation = {"max_absolute": 0.9, "max_relative": 0.03, "relative_l2": 0.014}
    Build.objects.filter(pk=scene.fast.pk).update(
        tolerance="int8", deviation=deviation, accuracy=0.97, accuracy_reference=0.98
    )
    fast, baseline = str(scene.fast.uuid), str(scene.baseline.uuid)
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({}, baseline),
        ({"tolerance": "int8"}, fast),
        ({"tolerance": 0.02}, fast),
        ({"tolerance": 1}, fast),
        ({"tolerance": 0.01}, None),
        ({"min_accuracy": 0.97}, fast),
        ({"min_accuracy": 0.98}, None),
        ({"min_accuracy": 0.97, "tolerance": "exact"}, None),
        ({"min_accuracy": None}, baseline),
    ]
    for changes, uuid in cases:
        answer = anonymous.post(PATH, question(**changes)).ok()
        assert (answer["build"] and answer["build"]["uuid"]) == uuid, changes


def test_a_least_accuracy_needs_labels(anonymous: Api, scene: Scene) -> None:
    Build.objects.update(accuracy=None)
    answer = anonymous.post(PATH, question(min_accuracy=0.9))
    assert (answer.status, answer.code) == (400, "accuracy_not_measured")
    assert "labels" in answer.json["hint"]
    # Nothing is known of a network without builds.
    Build.objects.update(withdrawn_at=timezone.now())
    assert anonymous.post(PATH, question(min_accuracy=0.9)).ok()["build"] is None


def test_the_answer_says_what_laxer_limits_would_bring(anonymous: Api, scene: Scene) -> None:
    deviation = {"max_absolute": 0.9, "max_relative": 0.03, "relative_l2": 0.0137}
    Build.objects.filter(pk=scene.fast.pk).update(
        tolerance="int8", deviation=deviation, accuracy=0.97, accuracy_reference=0.98
    )
    brought = {
        "tolerance": "int8",
        "backend": scene.fast.candidate["backend"],
        "gain": 1 / scene.fast.ratio,
        "latency_ns": scene.fast.p50_ns,
        "deviation": deviation,
        "relative_error": 0.0137,
        "accuracy": 0.97,
        "accuracy_reference": 0.98,
    }
    for limits, laxer in (
        ({}, {"tolerance": "int8"}),
        ({"tolerance": 0.01}, {"tolerance": 0.014}),
        ({"min_accuracy": 0.98}, {"min_accuracy": 0.97}),
    ):
        answer = anonymous.post(PATH, question(**limits)).ok()
        assert answer["looser"] == [{"limits": laxer, **brought}], limits
        (looser,) = answer["looser"]
        again = anonymous.post(PATH, question(**{**limits, **looser["limits"]})).ok()
        assert again["build"]["uuid"] == str(scene.fast.uuid)
        assert again["looser"] == []
