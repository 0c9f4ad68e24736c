"""ONNX Runtime's knobs: what is offered to whom."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.workers.backends.offered import ARM, X86, network_of, values
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.backends.onnxruntime.space import space_of
from workers.testing import networks

BACKEND = OnnxRuntimeBackend()


def test_a_dense_network_has_no_levels_above_extended(tmp_path: Path) -> None:
    mlp = network_of(networks.mlp, tmp_path)
    assert values(mlp, X86, "graph_optimization") == ("disable", "basic", "all")
    assert values(mlp, X86, "artefact") == ("onnx", "optimized", "ort")
    assert values(mlp, X86, "execution") == ()
    assert values(mlp, X86, "quantize") == ()


def test_a_convolutional_network_is_not_saved_in_ort_format(tmp_path: Path) -> None:
    cnn = network_of(networks.residual_cnn, tmp_path)
    assert values(cnn, X86, "graph_optimization") == ("disable", "basic", "extended", "all")
    assert values(cnn, X86, "artefact") == ("onnx", "optimized")
    assert values(cnn, X86, "execution") == ("sequential", "parallel")
    assert values(cnn, X86, "quantize") == ("heavy", "between")


@pytest.mark.parametrize(
    ("cores", "threads"), [(1, ("one",)), (2, ("all", "one")), (8, ("all", "half", "one"))]
)
def test_threads_are_offered_where_their_number_differs(
    tmp_path: Path, cores: int, threads: tuple[str, ...]
) -> None:
    target = replace(X86, cores=cores)
    cnn = network_of(networks.residual_cnn, tmp_path)
    assert values(cnn, target, "threads") == threads
    assert bool(values(cnn, target, "spinning")) == (cores > 1)
    assert bool(values(cnn, target, "execution")) == (cores > 1)
    space = space_of(cnn, target)
    assert not any("execution" in o for o in space.enumerate() if o.get("threads") == "one")
    assert space.contains(BACKEND.reference(cnn, target))


def test_low_precision_is_offered_where_the_processor_gains(tmp_path: Path) -> None:
    mlp = network_of(networks.mlp, tmp_path / "mlp")
    cnn = network_of(networks.residual_cnn, tmp_path / "cnn")
    assert values(mlp, X86, "precision") == ("float32", "int8-dynamic", "int8-static")
    assert values(cnn, X86, "precision") == ("float32", "int8-static")
    assert values(cnn, ARM, "precision") == ("float32", "int8-static", "float16", "bfloat16")
    assert "bfloat16" not in values(cnn, replace(ARM, features=frozenset()), "precision")


@pytest.mark.parametrize(
    "changed",
    [
        {"operators": {"QuantizeLinear": 2, "Conv": 1}},
        {"operators": {"TreeEnsembleClassifier": 1}},
        {"dtype": "float64"},
        {"dtype": "float16"},
    ],
)
def test_what_cannot_be_lowered_is_offered_as_it_is(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    network = network_of(networks.residual_cnn, tmp_path)
    if dtype := changed.get("dtype"):
        network = replace(network, inputs=(replace(network.inputs[0], dtype=dtype),))
    else:
        network = replace(network, **changed)
    assert values(network, ARM, "precision") == ("float32",)
    assert values(network, ARM, "per_channel") == ()


def test_a_small_network_is_first_tried_on_one_thread(tmp_path: Path) -> None:
    cnn = network_of(networks.residual_cnn, tmp_path)
    small, large = (space_of(replace(cnn, macs=m), X86).promising for m in (10**5, 10**8))
    assert (small[0]["threads"], large[0]["threads"]) == ("one", "all")


@pytest.mark.parametrize(
    ("operators", "is_rewritten"),
    [
        ({"Conv": 26, "Concat": 8, "Relu": 26}, True),
        ({"Conv": 5, "LRN": 2}, True),
        ({"Conv": 56, "Transpose": 16, "Reshape": 33}, True),
        # The concatenations of a decoder follow upsampling and precede wide convolutions.
        ({"Conv": 18, "ConvTranspose": 4, "Concat": 4}, False),
        # The attention of a vision transformer.
        (
            {"Conv": 1, "Concat": 1, "MatMul": 24, "Softmax": 4, "Transpose": 9, "Reshape": 12},
            True,
        ),
        # A classifier of scikit-learn.
        ({"MatMul": 3, "Add": 3, "Relu": 2, "Softmax": 1}, False),
        # A shape that the network computes.
        ({"Conv": 20, "Shape": 1, "Concat": 1, "Reshape": 1}, False),
    ],
)
def test_rewrites_are_offered_where_operators_allow_one(
    tmp_path: Path,
    operators: dict[str, int],
    *,
    is_rewritten: bool,
) -> None:
    network = replace(network_of(networks.residual_cnn, tmp_path), operators=operators)
    assert ("rewritten" in values(network, X86, "artefact")) == is_rewritten


def test_what_takes_long_to_build_is_tried_later(tmp_path: Path) -> None:
    network = network_of(networks.transformer, tmp_path)
    order = [(each["precision"], each.get("artefact")) for each in space_of(network, X86).promising]
    exact, quantised = order.index(("float32", "rewritten")), order.index(("int8-static", None))
    assert exact < quantised


def test_sums_of_attention_are_tried_in_float_first(tmp_path: Path) -> None:
    def promised(maker: Any) -> set[Any]:
        space = space_of(network_of(maker, tmp_path / maker.__name__), X86)
        return {each["quantize"] for each in space.promising if "quantize" in each}

    assert promised(networks.transformer) == {"heavy"}
    assert promised(networks.residual_cnn) == {"between"}
