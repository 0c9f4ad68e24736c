"""Test tensors: described, compared with the signature, never unpickled."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.inspection.errors import InspectionError
from workers.inspection.samples import read_samples

SIGNATURE: dict[str, Any] = {
    "inputs": [{"name": "gpu/x:0", "dtype": "float32", "shape": ["N", 3]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 10]}],
}
X = np.zeros((5, 3), np.float32)
Y = np.zeros((5, 10), np.float32)


def _write(folder: Path, **arrays: Any) -> Path:
    path = folder / "samples.npz"
    with path.open("wb") as stream:
        np.savez(stream, **{name.replace("__", "/"): value for name, value in arrays.items()})
    return path


def test_labelled_samples_are_described(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    np.savez_compressed(
        path, **{"inputs/gpu/x:0": X, "outputs/y": Y, "labels": np.zeros(5, np.int64)}
    )
    found = read_samples(path, SIGNATURE).as_dict()
    assert found["fits"]
    assert (found["count"], found["labels"], found["outputs"]) == (5, True, True)
    assert found["arrays"]["inputs/gpu/x:0"] == {"dtype": "float32", "shape": [5, 3]}


def test_whole_inputs_as_rows_fit_too(tmp_path: Path) -> None:
    signature = {"inputs": [{"name": "x", "dtype": "float32", "shape": [2, 3]}], "outputs": []}
    path = _write(tmp_path, inputs__x=np.zeros((7, 2, 3), np.float32))
    found = read_samples(path, signature)
    assert (found.problems, found.count) == ([], 7)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"outputs/y": Y}, "inputs/gpu/x:0 is missing"),
        ({"inputs/gpu/x:0": X.astype(np.float64)}, "float64"),
        ({"inputs/gpu/x:0": X[:, :2]}, "shape [5, 2]"),
        ({"inputs/gpu/x:0": X, "inputs/z": X}, "inputs/z is no tensor"),
        ({"inputs/gpu/x:0": X, "outputs/y": Y[:4]}, "different numbers of samples: [4, 5]"),
        ({"inputs/gpu/x:0": X, "labels": np.zeros((5, 2), np.int64)}, "labels are"),
        ({"inputs/gpu/x:0": X, "labels": np.zeros(5)}, "labels are float64"),
        ({"inputs/gpu/x:0": np.float32(1)}, "shape []"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path: Path, arrays: dict[str, Any], says: str) -> None:
    path = tmp_path / "samples.npz"
    np.savez(path, **arrays)
    found = read_samples(path, SIGNATURE)
    assert any(says in problem for problem in found.problems)
    assert not found.as_dict()["fits"]


def _refused(path: Path) -> InspectionError:
    with pytest.raises(InspectionError) as caught:
        read_samples(path, SIGNATURE)
    assert caught.value.code == "samples_unreadable"
    return caught.value


def test_python_objects_are_refused_without_being_loaded(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    np.savez(path, x=np.array([{"a": 1}], object))
    assert "unpickled" in _refused(path).detail


def test_an_archive_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, inputs__x=X)
    data = path.read_bytes()
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        _refused(path)


def test_flipped_bits_are_found(tmp_path: Path) -> None:
    path = _write(tmp_path, inputs__x=X)
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 5] ^= 1
    path.write_bytes(data)
    _refused(path)


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no arrays here")
    _refused(path)
    path.write_bytes(b"\x93NUMPY")
    _refused(path)


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    path, stream = tmp_path / "samples.npz", io.BytesIO()
    np.save(stream, X)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", stream.getvalue())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("x.npy", stream.getvalue())
    _refused(path)


def test_an_archive_that_would_fill_the_memory_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "samples.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(1025):
            archive.writestr(f"{i}.npy", b"")
    assert "more than" in _refused(path).detail


def test_a_size_the_header_lies_about_is_refused(tmp_path: Path) -> None:
    path, stream = tmp_path / "samples.npz", io.BytesIO()
    np.save(stream, X)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", stream.getvalue().replace(b"(5, 3)", b"(9, 3)"))
    assert "another size" in _refused(path).detail


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_member_is_described_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("npz") / "samples.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY" + data)
    try:
        read_samples(path, SIGNATURE)
    except InspectionError as error:
        code = error.code
    else:
        code = "samples_unreadable"
    assert code == "samples_unreadable"


@settings(deadline=None)
@given(st.text(alphabet="(){}[],:'\"LO-1059.abf<|é \n", max_size=80))
def test_any_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, header: str
) -> None:
    path = tmp_path_factory.mktemp("npz") / "samples.npz"
    text = header.encode("latin1")
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(60)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", data)
    _refused(path)
