"""LiteRT runs TensorFlow Lite files as published, beside the ONNX file they came from."""

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from onnx import numpy_helper

from hpcfair.errors import BadConfig, RuntimeFailed
from hpcfair.runtimes import registry as runtimes
from hpcfair.runtimes.base import TensorInfo
from hpcfair.runtimes.tensors import MappedTensor, write_tensors
from tests.programs import needs
from workers.backends.litert import space
from workers.backends.litert.backend import LiteRtBackend
from workers.backends.onnxruntime.backend import OnnxRuntimeBackend
from workers.engine.errors import CandidateFailed, InvalidCandidate
from workers.engine.local import LocalDevice
from workers.engine.numerics import check, require, run_reference
from workers.engine.requests import TuningRequest
from workers.engine.testset import make_test_set
from workers.engine.types import AlternativeFormat, Network, TargetSpec
from workers.testing import networks
from workers.testing.backend_contract import BackendContract, this_target
from workers.testing.reused import ReusedChild, ReusedDevice
from workers.testing.tflite import Kind, Layer, write_dense

pytestmark = [needs("ai_edge_litert"), pytest.mark.slow]
TOLERANCES = {"float32": "exact", "float16": "fp16", "int8-weights": "int8", "int8": "int8"}
TARGET = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2"}), 2, None)


def layers() -> list[Layer]:
    """The weights of ``networks.mlp()``."""
    held = {t.name: numpy_helper.to_array(t) for t in networks.mlp().graph.initializer}
    return [Layer(held[f"w{n}"], held[f"b{n}"]) for n in range(3)]


def with_forms(folder: Path, *kinds: Kind) -> Network:
    """The MLP as ONNX, and as TensorFlow Lite files with other names of tensors."""
    network = networks.write(networks.mlp(), folder)
    calibration = np.random.default_rng(1).standard_normal((256, 8)).astype(np.float32)
    paths = [
        write_dense(folder / f"{kind}.tflite", layers(), kind, calibration=calibration)
        for kind in kinds
    ]
    return replace(
        network, alternatives=tuple(AlternativeFormat("tflite", path, "0" * 64) for path in paths)
    )


class TestLiteRt(BackendContract):
    """Each candidate of a float and an int8 file agrees with LiteRT's plain kernels."""

    backend = LiteRtBackend
    heavy: ClassVar[tuple[str, ...]] = ("ai_edge_litert",)
    sampled = 1

    @pytest.fixture
    def network(self, tmp_path: Path) -> Network:
        return with_forms(tmp_path / "model", "float32", "int8")

    @pytest.fixture
    def small(self, tmp_path: Path) -> Network:
        return with_forms(tmp_path / "model", "float32")


def test_every_kind_of_file_is_held_to_what_it_computes_in(tmp_path: Path) -> None:
    network = with_forms(tmp_path / "model", "float32", "float16", "int8-weights", "int8")
    backends = {"litert": LiteRtBackend(), "onnxruntime": OnnxRuntimeBackend()}
    target = this_target()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    tests = make_test_set(network, {}, 3)
    request = TuningRequest(network, target, tuple(backends))
    with (
        ReusedChild(tmp_path, request.limits) as child,
        ReusedDevice(request, backends, scratch, child) as device,
    ):
        truth = device.build("onnxruntime", backends["onnxruntime"].reference(network, target))
        with closing(device.open("onnxruntime", truth, "reference", tests.timing)) as session:
            expected = run_reference(session, tests)
        for kind, tolerance in TOLERANCES.items():
            options = {"source": f"{kind}.tflite", "kernels": "xnnpack", "threads": "one"}
            build = device.build("litert", options)
            assert build.tolerance == tolerance, (kind, build.detail)
            assert build.provenance["source"] == f"{kind}.tflite"
            assert build.provenance["operators"]["FULLY_CONNECTED"] == 3
            with closing(device.open("litert", build, "candidate", tests.timing)) as session:
                require(check(session, tests, expected), build.tolerance, None, None)
            with pytest.raises(CandidateFailed, match="does not time them"):
                device.profile("litert", build, tests.timing, tmp_path / kind)


def test_a_file_of_another_network_is_refused(tmp_path: Path) -> None:
    network = with_forms(tmp_path / "model", "float32")
    (only,) = network.alternatives
    write_dense(only.path, layers()[1:])
    options = LiteRtBackend().default(network, TARGET)
    (tmp_path / "out").mkdir()
    with pytest.raises(InvalidCandidate, match=r"input has the shape \[\?, 32\], x .* \[N, 8\]"):
        LiteRtBackend().build(network, TARGET, options, tmp_path / "out")


@pytest.mark.parametrize("damage", [b"", b"TFL3" * 4, b"\x1c\0\0\0TFL3" + b"\xff" * 64])
def test_a_damaged_file_is_refused_without_its_folder(tmp_path: Path, damage: bytes) -> None:
    network = with_forms(tmp_path / "model", "float32")
    network.alternatives[0].path.write_bytes(damage)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    made = LiteRtBackend()
    with LocalDevice(
        TuningRequest(network, TARGET, ("litert",)), {"litert": made}, scratch
    ) as device:
        build = device.build("litert", made.default(network, TARGET))
    assert build.outcome == "invalid"
    assert "model.tflite" in build.detail
    assert str(tmp_path) not in build.detail


def test_a_file_for_one_row_takes_any_number_one_after_another(tmp_path: Path) -> None:
    calibration = np.random.default_rng(1).standard_normal((64, 8)).astype(np.float32)
    mapped = [
        (MappedTensor(TensorInfo(name, "float32", ("N", size)), 0),)
        for name, size in (("x", 8), ("y", 10))
    ]
    write_tensors(tmp_path, *mapped)
    for kind in ("float32", "int8"):
        outputs = []
        for open_batch in (True, False):
            path = tmp_path / "model.tflite"
            write_dense(path, layers(), kind, calibration=calibration, open_batch=open_batch)
            runtime = runtimes.open("litert", path, {"threads": "one"})
            outputs.append(runtime.run({"x": calibration[:5]})["y"])
            assert runtime.run({"x": calibration[:1]})["y"].shape == (1, 10)
            runtime.close()
        np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"warp": 9}, "has no option 'warp'"),
        ({"kernels": "fast"}, "one of xnnpack"),
        ({"threads": 0}, "one of all, half, one"),
    ],
)
def test_an_option_it_does_not_know_is_refused(
    tmp_path: Path, options: dict[str, str | int], said: str
) -> None:
    write_dense(tmp_path / "model.tflite", layers())
    with pytest.raises(BadConfig, match=said):
        runtimes.open("litert", tmp_path / "model.tflite", options)


def test_what_int8_cannot_hold_becomes_its_nearest_value(tmp_path: Path) -> None:
    one = np.ones((1, 8), np.float32)
    path = write_dense(tmp_path / "model.tflite", layers(), "int8", calibration=one)
    runtime = runtimes.open("litert", path, {})
    largest, beyond, undefined = (
        runtime.run({"input": one * value})["output"] for value in (1, np.inf, np.nan)
    )
    np.testing.assert_array_equal(beyond, largest)
    np.testing.assert_array_equal(undefined, largest)
    runtime.close()
    with pytest.raises(RuntimeFailed, match="closed"):
        runtime.run({"input": one})


def test_channels_last_are_turned_on_the_way(tmp_path: Path) -> None:
    mapped = MappedTensor(TensorInfo("image", "float32", ("N", 3, 4, 5)), 0, (0, 2, 3, 1))
    image = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)
    turned = mapped.to_file(image)
    assert turned.shape == (1, 4, 5, 3)
    np.testing.assert_array_equal(mapped.from_file(turned), image)


def test_without_its_converter_a_conversion_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "litert_torch", None)
    program = AlternativeFormat("torch-export", tmp_path / "model.pt2", "0" * 64)
    network = replace(networks.write(networks.mlp(), tmp_path / "model"), alternatives=(program,))
    made = LiteRtBackend()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with LocalDevice(
        TuningRequest(network, TARGET, ("litert",)), {"litert": made}, scratch
    ) as device:
        build = device.build("litert", made.default(network, TARGET))
    # Not the machine's fault, which would have the search begun again, and again.
    assert build.outcome == "invalid"
    assert "hpcfair-hub[litert-convert]" in build.detail


def test_a_conversion_that_cannot_be_made_is_tried_once_and_only_where_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space, "CONVERTER", "no_such_converter")
    program = AlternativeFormat("torch-export", tmp_path / "model.pt2", "0" * 64)
    file = AlternativeFormat("tflite", tmp_path / "model.tflite", "0" * 64)
    network = networks.write(networks.mlp(), tmp_path / "model")
    for alternatives, sources in (
        ((program,), {"convert-float32"}),
        ((program, file), {"model.tflite"}),
    ):
        found = LiteRtBackend().space(replace(network, alternatives=alternatives), TARGET)
        assert {options["source"] for options in found.enumerate()} == sources


def test_a_network_without_other_forms_says_what_to_publish(tmp_path: Path) -> None:
    network = networks.write(networks.mlp(), tmp_path / "model")
    made = LiteRtBackend()
    with pytest.raises(InvalidCandidate, match=r"hpcfair\.save of a torch module"):
        made.build(network, TARGET, made.default(network, TARGET), tmp_path)
