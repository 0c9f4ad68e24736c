"""A revision without an ONNX file: its TensorFlow Lite files are the network."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.tickets import GraphFacts
from workers.inspection.errors import InspectionError
from workers.inspection.inspect import read_folder
from workers.inspection.tflite_graph import read_tflite_graph
from workers.inspection.tflite_operators import name_of
from workers.testing.tflite import Kind, Layer, write_convolutional, write_dense


def dense(path: Path, *sizes: int, kind: Kind = "float32", seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    layers = [
        Layer(rng.standard_normal(pair).astype(np.float32), np.zeros(pair[1], np.float32))
        for pair in pairwise(sizes)
    ]
    calibration = rng.standard_normal((16, sizes[0])).astype(np.float32)
    return write_dense(path, layers, kind, calibration=calibration)


def test_the_facts_of_a_dense_network(tmp_path: Path) -> None:
    facts = GraphFacts(**read_tflite_graph(tmp_path, dense(tmp_path / "a.tflite", 8, 6, 3).name))
    assert (facts.format, facts.architecture_class) == ("tflite", "mlp")
    assert facts.parameters == 8 * 6 + 6 + 6 * 3 + 3
    assert facts.weight_dtypes == {"float32": facts.parameters}
    assert facts.weight_bytes == 4 * facts.parameters
    assert facts.macs == 8 * 6 + 6 * 3
    assert facts.operators == {"tflite::FULLY_CONNECTED": 2}
    assert facts.signature == {
        "inputs": [{"name": "input", "dtype": "float32", "shape": ["N", 8]}],
        "outputs": [{"name": "output", "dtype": "float32", "shape": ["M", 3]}],
    }


def test_the_facts_of_a_convolutional_network(tmp_path: Path) -> None:
    facts = read_tflite_graph(tmp_path, write_convolutional(tmp_path / "a.tflite").name)
    assert facts["architecture_class"] == "depthwise-cnn"
    assert facts["macs"] == 16 * 4 * 27 + 16 * 4 * 9
    assert set(facts["operators"]) == {
        "tflite::ADD",
        "tflite::CONV_2D",
        "tflite::DEPTHWISE_CONV_2D",
    }


def test_the_hash_is_of_the_structure_not_of_the_weights(tmp_path: Path) -> None:
    hashes = [
        read_tflite_graph(tmp_path, dense(tmp_path / f"{n}.tflite", *sizes, seed=n).name)[
            "graph_hash"
        ]
        for n, sizes in enumerate([(8, 6, 3), (8, 6, 3), (8, 5, 3)])
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_the_file_with_the_most_weights_counts_and_the_others_are_forms_of_it(
    tmp_path: Path,
) -> None:
    dense(tmp_path / "a-int8.tflite", 8, 64, 3, kind="int8")
    dense(tmp_path / "model.tflite", 8, 64, 3)
    dense(tmp_path / "other.tflite", 5, 3)
    found = read_folder(tmp_path)
    (facts,) = found["graphs"]
    assert found["primary"] == facts["path"] == "model.tflite"
    assert [form["path"] for form in facts["forms"]] == ["a-int8.tflite", "model.tflite"]
    (warning,) = found["warnings"]
    assert warning.startswith("other.tflite does not fit model.tflite: ")


def test_quantised_weights_are_weights(tmp_path: Path) -> None:
    facts = read_tflite_graph(tmp_path, dense(tmp_path / "a.tflite", 8, 6, kind="int8").name)
    assert facts["weight_dtypes"] == {"int8": 48, "int32": 6}
    assert facts["signature"]["inputs"][0]["dtype"] == "float32"


@pytest.mark.parametrize("data", [b"", b"TFL3" * 9, b"\x08\0\0\0TFL3\xff\xff\xff\x7f"])
def test_a_damaged_file_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.tflite").write_bytes(data)
    with pytest.raises(InspectionError, match=r"model\.tflite") as refusal:
        read_folder(tmp_path)
    assert refusal.value.code == "tflite_invalid"


@given(edits=st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 255)), max_size=4))
def test_wrong_bytes_anywhere_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("a")
    path = write_convolutional(folder / "model.tflite")
    data = bytearray(path.read_bytes())
    for position, value in edits:
        data[position % len(data)] = value
    path.write_bytes(data)
    with suppress(InspectionError):
        facts = GraphFacts(**read_tflite_graph(folder, path.name))
        assert 0 <= facts.parameters <= 8 * len(data)


def test_operators_have_the_names_of_the_schema() -> None:
    named = {code: name_of(code) for code in (0, 32, 67, 100, 126, 132, 150, 161)}
    assert named == {
        0: "ADD", 32: "CUSTOM", 67: "TRANSPOSE_CONV", 100: "MIRROR_PAD", 126: "BATCH_MATMUL",
        132: "CONV_3D", 150: "GELU", 161: "RIGHT_SHIFT",
    }  # fmt: skip
    assert name_of(999) == "OPERATOR_999"
