"""Bytes on their way out: of revisions and of builds."""

import pytest
from django.db import OperationalError

from hub import files
from registry.tables import MLModel
from tests.factories import commit_files, tiny_onnx
from tests.hub.api.client import Api
from tests.hub.api.scene import Scene

FILES = "models/lab/galaxy-cnn/files"


def downloads(mlmodel: MLModel) -> int:
    return MLModel.objects.get(pk=mlmodel.pk).downloads


def test_a_file_comes_whole_and_by_range(anonymous: Api, galaxy: MLModel) -> None:
    network = tiny_onnx()
    whole = anonymous.get(f"{FILES}/model.onnx")
    assert (whole.status, whole.content) == (200, network)
    part = anonymous.get(f"{FILES}/model.onnx", Range="bytes=10-", If_Range=whole.headers["ETag"])
    assert (part.status, part.content) == (206, network[10:])
    head = anonymous.send("HEAD", f"{FILES}/model.onnx")
    assert (head.status, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(network))
    same = anonymous.get(f"{FILES}/model.onnx", If_None_Match=whole.headers["ETag"])
    assert (same.status, same.content) == (304, b"")


def test_only_what_is_fixed_is_kept_for_ever(
    anonymous: Api, as_charlie: Api, galaxy: MLModel, secret: MLModel
) -> None:
    oid = anonymous.get("models/lab/galaxy-cnn").ok()["revision"]
    own = as_charlie.get("models/lab/secret").ok()["revision"]
    answers = {
        f"{FILES}/README.md": "public, no-cache",
        f"{FILES}/README.md?revision=main": "public, no-cache",
        f"{FILES}/README.md?revision={oid[:10]}": "public, no-cache",
        f"{FILES}/README.md?revision={oid}": "public, max-age=31536000, immutable",
        "models/lab/secret/files/README.md": "private, no-cache",
        f"models/lab/secret/files/README.md?revision={own}": "private, max-age=31536000, immutable",
    }
    found = {path: as_charlie.get(path).headers["Cache-Control"] for path in answers}
    assert found == answers


def test_a_file_that_is_not_there_is_told_apart(anonymous: Api, galaxy: MLModel) -> None:
    assert anonymous.get(f"{FILES}/nothing").code == "file_not_found"
    assert anonymous.get(f"{FILES}/a/../README.md").code == "file_not_found"
    assert anonymous.get(f"{FILES}/README.md?revision=x").code == "revision_not_found"
    assert anonymous.get(f"{FILES}/README.md?revison=x").code == "invalid_request"


def test_a_build_has_its_files(anonymous: Api, scene: Scene) -> None:
    told = anonymous.get(f"builds/{scene.fast.uuid}").ok()
    (file,) = told["files"]
    answer = anonymous.get(file["url"])
    assert answer.content == b"artefact with one threads"
    assert answer.headers["ETag"] == f'"{file["sha256"]}"'
    assert anonymous.get(f"builds/{scene.fast.uuid}/files/nothing").code == "file_not_found"


def test_a_fetch_of_the_weights_is_one_download(anonymous: Api, scene: Scene) -> None:
    big = b"w" * 5000
    commit_files(scene.mlmodel, {"weights.bin": big})
    weights = f"{FILES}/weights.bin"
    anonymous.get(weights)
    assert downloads(scene.mlmodel) == 1
    anonymous.get(weights, Range="bytes=0-9")
    anonymous.get(weights, Range="bytes=10-")
    assert downloads(scene.mlmodel) == 2
    anonymous.send("HEAD", weights)
    anonymous.get(weights, If_None_Match=anonymous.get(weights).headers["ETag"])
    anonymous.get(f"{FILES}/README.md")
    assert downloads(scene.mlmodel) == 3


def test_a_fetch_of_a_builds_entry_point_is_one_download(anonymous: Api, scene: Scene) -> None:
    anonymous.get(f"builds/{scene.fast.uuid}/files/model.ort")
    assert downloads(scene.mlmodel) == 1


def test_a_busy_database_withholds_no_bytes(
    anonymous: Api, galaxy: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(**_: object) -> None:
        raise OperationalError("database is locked")

    commit_files(galaxy, {"weights.bin": b"w" * 5000})
    monkeypatch.setattr(files, "mlmodel_downloaded", locked)
    assert anonymous.get(f"{FILES}/weights.bin").content == b"w" * 5000
