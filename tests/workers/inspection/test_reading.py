"""Bytes that are ONNX, were ONNX, and never were."""

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workers.inspection.conftest import Refusal
from tests.workers.inspection.networks import bert, mlp
from workers.inspection.errors import InspectionError
from workers.inspection.reading import read_model


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(mlp().SerializeToString())
    assert read_model(path, "a.onnx") == mlp()


def test_a_file_cut_anywhere_is_called_truncated(refusal: Refusal) -> None:
    data = mlp().SerializeToString()
    # Every place among the small fields, and many inside the weights.
    for length in (*range(64), *range(64, len(data) - 64, 13), *range(len(data) - 64, len(data))):
        error = refusal(data[:length])
        assert error.code == "onnx_truncated", length
        assert "Upload the file again" in error.hint


def test_a_large_file_cut_in_its_weights_is_called_truncated(refusal: Refusal) -> None:
    data = bert(layers=8).SerializeToString()
    assert refusal(data[: len(data) // 2]).code == "onnx_truncated"


def _archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.pkl", b"x")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (_archive(), "zip archive"),
        (pickle.dumps({"weights": [1.0]}), "pickle"),
        (b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5"),
        (b"\x1f\x8b\x08" + bytes(64), "gzip"),
        (b"GGUF" + bytes(64), "GGUF"),
        (b"<!doctype html><html></html>", "web page"),
        (b'{"error": "not found"}', "JSON"),
        (b"Hello, this is no network.", "not an ONNX model"),
        (np.arange(100, dtype=np.float32).tobytes(), "not an ONNX model"),
        (bytes(1000), "not an ONNX model"),
    ],
)
def test_what_is_not_onnx_is_named(refusal: Refusal, data: bytes, says: str) -> None:
    error = refusal(data)
    assert error.code == "onnx_unreadable"
    assert says in error.detail
    assert error.hint


def test_damage_inside_a_complete_file_is_not_called_truncation(refusal: Refusal) -> None:
    model = mlp()
    graph = model.graph.SerializeToString()
    head = onnx.ModelProto(ir_version=8).SerializeToString()
    length = bytes([0x3A, len(graph) & 0x7F | 0x80, len(graph) >> 7])
    opset = b"\x42\x02\x10\x11"
    assert onnx.ModelProto.FromString(head + length + graph + opset).graph == model.graph
    broken = b"\xff" * len(graph)
    assert refusal(head + length + broken + opset).code == "onnx_unreadable"


def test_fields_in_another_order_are_read(tmp_path: Path) -> None:
    model = mlp()
    graph = onnx.ModelProto(graph=model.graph).SerializeToString()
    rest = onnx.ModelProto()
    rest.CopyFrom(model)
    rest.ClearField("graph")
    path = tmp_path / "a.onnx"
    path.write_bytes(graph + rest.SerializeToString())
    assert read_model(path, "a.onnx") == model


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.onnx").write_bytes(mlp().SerializeToString())
    (tmp_path / "link.onnx").symlink_to(tmp_path / "real.onnx")
    with pytest.raises(InspectionError) as caught:
        read_model(tmp_path / "link.onnx", "link.onnx")
    assert caught.value.code == "onnx_unreadable"


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    with pytest.raises(InspectionError) as caught:
        read_model(tmp_path / "pipe.onnx", "pipe.onnx")
    assert "regular file" in caught.value.detail


def test_a_file_above_two_gibibytes_is_told_to_use_external_data(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    with path.open("wb") as stream:
        stream.truncate(2**31)  # sparse: takes no space
    with pytest.raises(InspectionError) as caught:
        read_model(path, "huge.onnx")
    assert caught.value.code == "onnx_invalid"
    assert "external data" in caught.value.hint


@settings(deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    begins_well: bool,  # noqa: FBT001
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "a.onnx"
    path.write_bytes(b"\x08\x08" + data if begins_well else data)
    try:
        read_model(path, "a.onnx")
    except InspectionError as error:
        code = error.code
    else:
        code = ""
    assert code in {"", "onnx_unreadable", "onnx_truncated"}
