"""TensorFlow Lite files are read with every offset checked."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.types import TensorSpec
from workers.inspection.flatbuffer import Malformed, Table
from workers.inspection.interface import Unusable
from workers.inspection.tflite import _held, read_tflite
from workers.testing.tflite import Kind, Layer, write_dense
from workers.testing.tflite_encoding import _Builder

RNG = np.random.default_rng(0)
LAYERS = [
    Layer(RNG.standard_normal((4, 3)).astype(np.float32), np.zeros(3, np.float32)),
    Layer(RNG.standard_normal((3, 2)).astype(np.float32), np.zeros(2, np.float32)),
]


def written(path: Path, kind: Kind = "float32") -> Path:
    calibration = RNG.standard_normal((8, 4)).astype(np.float32)
    return write_dense(path, LAYERS, kind, calibration=calibration)


@pytest.mark.parametrize("kind", ["float32", "float16", "int8-weights", "int8"])
def test_a_file_says_what_it_takes_and_gives(tmp_path: Path, kind: Kind) -> None:
    found = read_tflite(written(tmp_path / "model.tflite", kind))
    assert found.inputs == (TensorSpec("input", "float32", ("?", 4)),)
    assert found.outputs == (TensorSpec("output", "float32", ("?", 2)),)


def test_int8_needs_inputs_to_calibrate_on(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="calibration"):
        write_dense(tmp_path / "model.tflite", LAYERS, "int8")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a TensorFlow Lite file"),
        (b"PK\x03\x04TFL2" * 9, "not a TensorFlow Lite file"),
        (b"\x00\x00\x00\x00TFL3", "has no graph"),
        (b"\xff\xff\xff\xffTFL3", "damaged"),
        (b"\x08\x00\x00\x00TFL3\xff\xff\xff\x7f", "damaged"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    with pytest.raises(Unusable, match=said):
        read_tflite(path)


def test_a_custom_operator_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "model.tflite")
    # Both fields of the operator's code: FULLY_CONNECTED becomes CUSTOM.
    data = path.read_bytes()
    codes = [i for i in range(len(data) - 3) if data[i : i + 4] == b"\x09\x00\x00\x00"]
    refused = 0
    for place in codes:
        path.write_bytes(data[:place] + b"\x20" + data[place + 1 :])
        try:
            read_tflite(path)
        except Unusable as error:
            refused += "custom operator" in str(error)
    assert refused


def test_values_beyond_the_end_of_the_file_are_damage() -> None:
    build = _Builder()
    size = 2**60
    build.raw.Finish(build.table(offset=(1, "Uint64", 8), size=(2, "Uint64", size)), b"TFL3")
    with pytest.raises(Malformed, match="beyond its end"):
        _held(Table.root(bytes(build.raw.Output())))


@given(edits=st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), max_size=4))
def test_wrong_bytes_anywhere_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]]
) -> None:
    path = written(tmp_path_factory.mktemp("a") / "model.tflite")
    data = bytearray(path.read_bytes())
    for position, value in edits:
        data[position % len(data)] = value
    path.write_bytes(data)
    with suppress(Unusable):
        assert len(read_tflite(path).inputs) < 5_000
