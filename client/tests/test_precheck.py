"""Files are checked before anything is sent."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.errors import BadInput, InvalidModelFile
from hpcfair.precheck import check_files
from hpcfair.samplefit import misfits

SIGNATURE = {
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
}


def saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **{name.replace("_", "/", 1): array for name, array in arrays.items()})
    return path


@pytest.mark.parametrize(
    ("name", "data", "code", "words"),
    [
        ("model.onnx", b"\x80\x04K\x01.", "onnx_unreadable", "Python pickle"),
        ("onnx/model.ONNX", b"PK\x03\x04rest", "onnx_unreadable", "zip archive"),
        ("model.onnx", b"", "onnx_unreadable", "empty"),
        ("model.tflite", b"\x00\x00\x00\x00ORTM", "tflite_invalid", "format tflite"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(
    tmp_path: Path, name: str, data: bytes, code: str, words: str
) -> None:
    local = tmp_path / "file"
    local.write_bytes(data)
    with pytest.raises(InvalidModelFile, match=words) as refusal:
        check_files({name: local})
    assert refusal.value.code == code


def test_other_files_and_networks_pass(tmp_path: Path, tiny: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny)
    (tmp_path / "data.pkl").write_bytes(b"\x80\x04K\x01.")
    files = {name: tmp_path / name for name in ("model.onnx", "data.pkl")}
    check_files(files)
    samples = saved(tmp_path / "samples.npz", inputs_x=np.ones((5, 4), np.float32))
    check_files({**files, "samples.npz": samples})


def test_samples_of_another_type_are_refused_before_they_are_sent(
    tmp_path: Path, tiny: bytes
) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny)
    samples = saved(tmp_path / "samples.npz", inputs_x=np.ones((5, 4)))
    with pytest.raises(BadInput, match="inputs/x is float64, the model has float32"):
        check_files({"model.onnx": tmp_path / "model.onnx", "samples.npz": samples})


def test_what_cannot_be_opened_here_is_left_to_the_hub(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"this is not ONNX at all")
    samples = saved(tmp_path / "samples.npz", inputs_x=np.ones((5, 4)))
    check_files({"model.onnx": tmp_path / "model.onnx", "samples.npz": samples})


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"inputs/x": ("float32", (5, 4))}, ""),
        ({"inputs/x": ("float32", (5, 1, 4))}, ""),
        ({"inputs/x": ("float32", (5, 3))}, "has shape"),
        ({"inputs/x": ("float32", (5,))}, "has shape"),
        ({"inputs/x": ("float64", (5, 4))}, "is float64"),
        ({"inputs/z": ("float32", (5, 4))}, "inputs/x is missing"),
        ({"inputs/x": ("float32", (5, 4)), "labels": ("float32", (5,))}, "labels are"),
    ],
)
def test_samples_fit_by_name_type_and_shape(
    arrays: dict[str, tuple[str, tuple[int, ...]]], problem: str
) -> None:
    found = misfits(arrays, SIGNATURE)
    assert (problem in "; ".join(found)) if problem else not found


def test_texts_and_types_that_numpy_lacks_are_stored_as_others() -> None:
    texts = {"inputs": [{"name": "x", "dtype": "string", "shape": ["N"]}], "outputs": []}
    assert misfits({"inputs/x": ("str160", (5,))}, texts) == []
    halves = {"inputs": [{"name": "x", "dtype": "bfloat16", "shape": ["N"]}], "outputs": []}
    assert misfits({"inputs/x": ("uint16", (5,))}, halves) == []
