"""Which other files of a revision are the network that its ONNX file is."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hpcfair.tickets import GraphFacts
from workers.engine.binding import Binding, Misfit, bind
from workers.engine.types import TensorSpec
from workers.inspection.inspect import read_folder
from workers.testing import networks
from workers.testing.pt2 import document, write_pt2
from workers.testing.tflite import Layer, write_dense


def dense(path: Path, *sizes: int) -> Path:
    rng = np.random.default_rng(0)
    layers = [
        Layer(rng.standard_normal(pair).astype(np.float32), np.zeros(pair[1], np.float32))
        for pair in pairwise(sizes)
    ]
    return write_dense(path, layers)


def test_forms_that_fit_are_kept_and_others_named(tmp_path: Path) -> None:
    networks.write(networks.mlp(), tmp_path / "model")
    folder = tmp_path / "model"
    dense(folder / "model.tflite", 8, 10)
    dense(folder / "w.tflite", 9, 10)
    (folder / "empty.tflite").write_bytes(b"")
    write_pt2(folder / "r.pt2")
    (folder / "link.tflite").symlink_to(folder / "model.tflite")
    found = read_folder(folder)
    assert found["graphs"][0]["forms"] == [{"format": "tflite", "path": "model.tflite"}]
    assert GraphFacts(**found["graphs"][0]).forms[0]["path"] == "model.tflite"
    assert found["warnings"] == [
        "r.pt2 does not fit model.onnx: relu has the shape [?, 8], scores of the graph [N, 10].",
        "empty.tflite is not used: it is not a TensorFlow Lite file.",
        "w.tflite does not fit model.onnx: input has the shape [?, 9], x of the graph [N, 8].",
    ]


def test_a_program_that_fits_is_kept(tmp_path: Path) -> None:
    networks.write(networks.with_operator("Relu"), tmp_path / "model")
    write_pt2(tmp_path / "model/model.pt2", document(width=3))
    found = read_folder(tmp_path / "model")
    assert found["graphs"][0]["forms"] == [{"format": "torch-export", "path": "model.pt2"}]
    assert found["warnings"] == []


def test_more_forms_than_anybody_tries_are_left(tmp_path: Path) -> None:
    networks.write(networks.mlp(), tmp_path / "model")
    for number in range(9):
        dense(tmp_path / f"model/{number}.tflite", 8, 10)
    found = read_folder(tmp_path / "model")
    assert len(found["graphs"][0]["forms"]) == 8
    assert found["warnings"] == ["8.tflite was not read."]


IMAGE = (TensorSpec("image", "float32", ("N", 3, 24, 32)),)


@pytest.mark.parametrize(
    ("shape", "order"),
    [((1, 3, 24, 32), ()), (("?", 24, 32, 3), (0, 2, 3, 1)), (("?", "?", "?", "?"), ())],
)
def test_channels_may_come_last(shape: tuple[int | str, ...], order: tuple[int, ...]) -> None:
    own = (TensorSpec("serving_default:0", "float32", shape),)
    assert bind(own, IMAGE, resizable=True) == (Binding(0, order),)


@pytest.mark.parametrize(
    "own",
    [
        (),
        (TensorSpec("image", "float64", ("?", 3, 24, 32)),),
        (TensorSpec("image", "float32", (1, 3, 24, 32)),),
        (TensorSpec("image", "float32", ("?", 32, 24, 3)),),
        (TensorSpec("image", "float32", ("?", 3, 24)),),
    ],
)
def test_another_signature_does_not_fit(own: tuple[TensorSpec, ...]) -> None:
    with pytest.raises(Misfit):
        bind(own, IMAGE, resizable=False)


def test_equal_names_win_over_places() -> None:
    specs = (TensorSpec("a", "int64", (2,)), TensorSpec("b", "int64", (2,)))
    assert bind(specs[::-1], specs, resizable=False) == (Binding(1), Binding(0))
    renamed = (TensorSpec("args_0", "int64", (2,)), TensorSpec("b", "int64", (2,)))
    assert bind(renamed, specs, resizable=False) == (Binding(0), Binding(1))
