"""OpenVINO's knobs: what is offered to whom."""

from dataclasses import replace
from pathlib import Path

import pytest

from workers.backends.openvino.backend import OpenVinoBackend
from workers.backends.openvino.space import space_of
from workers.engine.space import plain
from workers.engine.types import Network, TargetSpec
from workers.testing import networks

BACKEND = OpenVinoBackend()
X86 = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2", "fma"}), 2, None)
AMX = replace(X86, slug="x86-64-amx", features=X86.features | {"avx512_bf16", "amx_bf16"})
ARM = TargetSpec("arm64-neoverse-v1", "arm64", frozenset({"asimdhp", "bf16"}), 8, None)


def values(network: Network, target: TargetSpec, name: str) -> tuple[object, ...]:
    """What the space offers for an option; empty if the option does not exist."""
    found = space_of(network, target).parameters.get(name)
    return tuple(plain(found).values) if found else ()


@pytest.mark.parametrize(
    ("target", "precisions"),
    [
        (X86, ("float32", "int8", "mixed")),
        (AMX, ("float32", "bfloat16", "int8", "mixed")),
        (ARM, ("float32", "float16", "int8", "mixed")),
    ],
)
def test_precisions_are_offered_where_the_processor_has_them(
    tmp_path: Path, target: TargetSpec, precisions: tuple[str, ...]
) -> None:
    cnn = networks.write(networks.residual_cnn(), tmp_path / "model")
    assert values(cnn, target, "precision") == precisions
    assert values(cnn, target, "rest") == (("float32", "bfloat16") if target is AMX else ())
    quantised = replace(cnn, operators={"QuantizeLinear": 1, "Conv": 1})
    assert values(quantised, target, "precision") == ("float32",)
    assert values(replace(cnn, operators={"Relu": 1}), target, "precision") == ("float32",)
    double = tuple(replace(spec, dtype="float64") for spec in cnn.inputs)
    assert values(replace(cnn, inputs=double), target, "precision") == ("float32",)


@pytest.mark.parametrize(
    ("cores", "threads"), [(1, ("one",)), (2, ("all", "one")), (8, ("all", "half", "one"))]
)
def test_threads_and_pinning_are_offered_where_they_differ(
    tmp_path: Path, cores: int, threads: tuple[str, ...]
) -> None:
    target = replace(X86, cores=cores)
    mlp = networks.write(networks.mlp(), tmp_path / "model")
    assert values(mlp, target, "threads") == threads
    space = space_of(mlp, target)
    assert not any("pinning" in o for o in space.enumerate() if o["threads"] == "one")
    assert space.contains(BACKEND.default(mlp, target))
    assert space.contains(BACKEND.reference(mlp, target))


def test_one_thread_is_promising_where_two_cores_may_be_one(tmp_path: Path) -> None:
    mlp = networks.write(networks.mlp(), tmp_path / "model")
    for cores, promised in ((2, True), (8, False)):
        promising = space_of(mlp, replace(X86, cores=cores)).promising
        assert ("one" in {options["threads"] for options in promising}) is promised


def test_networks_that_may_shuffle_channels_are_rewritten_first(tmp_path: Path) -> None:
    cnn = networks.write(networks.residual_cnn(), tmp_path / "model")
    assert values(cnn, X86, "artefact") == ()
    shuffling = replace(cnn, operators=dict(cnn.operators) | {"Transpose": 2, "Reshape": 4})
    assert values(shuffling, X86, "artefact") == ("onnx", "rewritten")
    first, *_ = space_of(shuffling, X86).promising
    assert (first["artefact"], first["precision"]) == ("rewritten", "int8")


def test_what_takes_long_to_build_is_tried_later(tmp_path: Path) -> None:
    cnn = networks.write(networks.residual_cnn(), tmp_path / "model")
    target = replace(X86, features=frozenset({"avx512_bf16"}))
    order = [each["precision"] for each in space_of(cnn, target).promising]
    assert order[:4] == ["bfloat16", "float32", "int8", "mixed"]


def test_static_shapes_and_smoothing_are_offered_to_whom_they_concern(tmp_path: Path) -> None:
    mlp = networks.write(networks.mlp(), tmp_path / "model")
    assert values(mlp, X86, "shapes") == ("dynamic", "static")
    assert values(mlp, X86, "smoothing") == ()
    assert values(replace(mlp, architecture_class="transformer"), X86, "smoothing") == (False, True)
    fixed = tuple(replace(spec, shape=(1, 8)) for spec in mlp.inputs)
    assert values(replace(mlp, inputs=fixed), X86, "shapes") == ()


@pytest.mark.parametrize(
    "operators",
    [
        # A vision transformer: attention transposes between reshapes.
        {"Conv": 1, "MatMul": 24, "Softmax": 4, "Transpose": 9, "Reshape": 12},
        # A detector: each head is transposed and reshaped.
        {"Conv": 40, "Transpose": 12, "Reshape": 12},
        {"Conv": 4, "Reshape": 2},
        # Pads that PyTorch's older exporter computes.
        {"Conv": 10, "ConstantOfShape": 4, "Concat": 4, "Reshape": 8, "Transpose": 4, "Pad": 4},
    ],
)
def test_networks_without_channel_shuffles_are_not_rewritten(
    tmp_path: Path, operators: dict[str, int]
) -> None:
    cnn = networks.write(networks.residual_cnn(), tmp_path / "model")
    assert values(replace(cnn, operators=operators), X86, "artefact") == ()
