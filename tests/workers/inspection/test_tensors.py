"""Test sets: read as ONNX's own tests keep them, and only where they fit the network."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from workers.inspection import tensors

SIGNATURE: dict[str, Any] = {
    "inputs": [
        {"name": "x", "dtype": "float32", "shape": ["N", 3]},
        {"name": "mask", "dtype": "int64", "shape": ["N"]},
    ],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 2]}],
}
X = np.arange(6, dtype=np.float32).reshape(2, 3)
MASK = np.ones(2, np.int64)
Y = np.zeros((2, 2), np.float32)
USUAL = {"input_0": X, "input_1": MASK, "output_0": Y}


def write(folder: Path, found: dict[str, Any], number: int = 0) -> list[dict[str, Any]]:
    """Write arrays, protos or bytes as one test set; the files, as a job names them."""
    files = []
    for stem, value in found.items():
        side, index = stem.split("_")
        path = f"test_data_set_{number}/{stem}.pb"
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(_bytes(value))
        files.append({"number": number, "side": side, "index": int(index), "path": path})
    return files


def _bytes(value: Any) -> bytes:
    proto = numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
    return value if isinstance(value, bytes) else bytes(proto.SerializeToString())


def read(folder: Path, files: list[dict[str, Any]]) -> dict[str, Any]:
    return tensors.read_sets(folder=str(folder), files=files, signature=SIGNATURE)


def test_a_set_that_fits_is_named_as_the_network_names_it(tmp_path: Path) -> None:
    found = read(tmp_path, write(tmp_path, USUAL))
    assert found["warnings"] == []
    assert [(t["side"], t["index"], t["name"]) for t in found["tensors"]] == [
        ("input", 0, "x"),
        ("input", 1, "mask"),
        ("output", 0, "y"),
    ]


def test_tensors_that_bear_the_networks_names_may_come_in_any_order(tmp_path: Path) -> None:
    swapped = {
        "input_0": numpy_helper.from_array(MASK, "mask"),
        "input_1": numpy_helper.from_array(X, "x"),
        "output_0": Y,
    }
    found = read(tmp_path, write(tmp_path, swapped))
    assert [t["name"] for t in found["tensors"]] == ["mask", "x", "y"]


def external() -> TensorProto:
    tensor = numpy_helper.from_array(X)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return tensor


def short() -> TensorProto:
    tensor = numpy_helper.from_array(X)
    tensor.dims[0] = 2**40
    return tensor


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"input_0": X.astype(np.float64)}, "is float64, x is float32"),
        ({"input_0": X[:, :2]}, "has shape [2, 2]"),
        ({"output_0": Y[0]}, "has shape [2]"),
        ({"input_0": b"no tensor at all"}, "not a valid tensor"),
        ({"input_0": b""}, "input_0.pb"),
        ({"input_0": external()}, "lie in another file"),
        ({"input_0": short()}, "not a valid tensor"),
        ({"input_2": X}, "it has 3 inputs, the network 2"),
        (
            {"input_0": helper.make_tensor("x", TensorProto.BFLOAT16, [2, 3], [1.0] * 6)},
            "a type that NumPy does not support",
        ),
    ],
)
def test_a_set_that_does_not_fit_is_left_out_with_the_reason(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    files = write(tmp_path, USUAL | change) + write(tmp_path, USUAL, number=1)
    found = read(tmp_path, files)
    (warning,) = found["warnings"]
    assert warning.startswith("test_data_set_0 is not used: ")
    assert says in warning
    # The other set is none the worse for it.
    assert {tensor["number"] for tensor in found["tensors"]} == {1}


def test_a_set_without_its_outputs_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, write(tmp_path, {"input_0": X, "input_1": MASK}))
    assert found["tensors"] == []
    assert "it has 0 outputs, the network 1" in found["warnings"][0]


def test_a_link_and_a_giant_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, USUAL)
    place = tmp_path / files[0]["path"]
    place.rename(tmp_path / "elsewhere.pb")
    place.symlink_to(tmp_path / "elsewhere.pb")
    assert "not a file of at most" in read(tmp_path, files)["warnings"][0]
    place.unlink()
    (tmp_path / "elsewhere.pb").rename(place)
    monkeypatch.setattr(tensors, "MOST_BYTES", 8)
    assert "not a file of at most" in read(tmp_path, files)["warnings"][0]


def test_sets_beyond_the_bound_of_all_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [file for number in range(3) for file in write(tmp_path, USUAL, number)]
    monkeypatch.setattr(tensors, "MAX_TEST_BYTES", 2 * (X.nbytes + MASK.nbytes + Y.nbytes))
    actual = read(tmp_path, files)
    assert {tensor["number"] for tensor in actual["tensors"]} == {0, 1}
    assert actual["warnings"] == [
        "test_data_set_2 is not used: the sets take more than 112 bytes together."
    ]


def test_texts_that_would_need_much_memory_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them as long as the longest: 40 kB in a file of one."""
    monkeypatch.setattr(tensors, "MOST_BYTES", 20_000)
    words = np.array(["x" * 100, *[""] * 99], dtype=object)
    files = write(tmp_path, USUAL | {"input_0": numpy_helper.from_array(words)})
    assert "MiB of memory" in read(tmp_path, files)["warnings"][0]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    words = np.array([["eins", "zwei"]])
    case = {"input": {"x": X, "words": words}, "output": {"y": Y, "is it": np.ones((), np.bool_)}}
    tensors.write_sets(folder=str(tmp_path), sets=[case])
    assert (
        onnx.TensorProto.FromString((tmp_path / "test_data_set_0/output_1.pb").read_bytes()).name
        == "is it"
    )
    asked = [
        {"number": 0, "side": side, "name": name, "path": f"test_data_set_0/{side}_{index}.pb"}
        for side in ("input", "output")
        for index, name in enumerate(case[side])
    ]
    (found,) = tensors.load_sets(folder=str(tmp_path), tensors=asked)
    for side, arrays in case.items():
        assert list(found[side]) == list(arrays)
        for name, array in arrays.items():
            assert np.array_equal(found[side][name], array), name


def test_a_tensor_that_is_too_large_for_a_test_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensors, "MOST_BYTES", 8)
    with pytest.raises(ValueError, match="too many for a test"):
        tensors.write_sets(folder=str(tmp_path), sets=[{"input": {}, "output": {"y": Y}}])


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_no_bytes_at_all_do_more_than_warn(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        found = read(folder, write(folder, USUAL | {"input_0": data}))
    assert len(found["warnings"]) == 1
