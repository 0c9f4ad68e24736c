"""Reduced-precision variants of a network by ONNX Runtime's tools.

Runs in the child process of a build, on an untrusted network: all exceptions of these tools are the
candidate's failure.
"""

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx

from hpcfair.runtimes import quiet_onnxruntime  # noqa: F401  before ONNX Runtime's tools

# isort: split
from onnxruntime import quantization
from onnxruntime.quantization.calibrate import (
    TensorsData,
    create_calibrator,
    save_tensors_data,
)
from onnxruntime.quantization.shape_inference import quant_pre_process

from workers.backends.normalform.opset import raise_opset
from workers.backends.onnxruntime import stem
from workers.backends.onnxruntime.files import MOST_BYTES, size_bytes
from workers.backends.onnxruntime.space import BETWEEN, HEAVY
from workers.engine.calibration import calibration_inputs
from workers.engine.errors import InvalidCandidate
from workers.engine.intermediates import intermediate
from workers.engine.ports import Array
from workers.engine.types import Network, Options, TargetSpec

_DYNAMIC = ("Attention", "Gemm", "LSTM", "MatMul")
_INTEGER = frozenset({"DequantizeLinear", "DynamicQuantizeLSTM", "MatMulInteger", "QAttention"})
#: Files of intermediates.
_PREPARED, _RANGES = "prepared.onnx", "ranges.json"
#: Largest magnitude of a tensor, over the mean of its largest magnitudes in each run. Beyond are
#: outliers: a range that holds them leaves too few steps for all others. The mean itself would cut
#: too much, because tensors of few elements reach very different magnitudes in each run.
_MOST_OF_MEAN = 3.0
_VNNI = frozenset({"avx512_vnni", "avx_vnni"})


def quantize_dynamic(
    network: Network, target: TargetSpec, options: Options, out: Path
) -> dict[str, Any]:
    """Write ``out`` with int8 weights, and activation ranges set at run time; returns
    provenance."""
    prepared = _prepare(network, out.parent)
    reduce_range = _reduces_range(target)
    quantization.quantize_dynamic(
        prepared,
        out,
        op_types_to_quantize=list(_DYNAMIC),
        per_channel=bool(options["per_channel"]),
        reduce_range=reduce_range,
        weight_type=quantization.QuantType.QInt8,
    )
    prepared.unlink()
    return _described(out, _INTEGER) | {"reduce_range": reduce_range}


def quantize_static(
    network: Network, target: TargetSpec, options: Options, out: Path
) -> dict[str, Any]:
    """Write ``out`` with int8 weights and activations, calibrated on inputs; returns provenance."""
    prepared = _prepare(network, out.parent)
    inputs, source = calibration_inputs(network)
    reduce_range = _reduces_range(target)
    # x86-64 multiplies unsigned by signed bytes, ARM64 prefers signed by signed: see "Choosing
    # parameters for CPU inference" in the documentation of quantize_static. TensorRT supports only
    # symmetric signed bytes, and adds biases in float32.
    gpu = _is_gpu(target)
    signed = gpu or target.architecture == "arm64"
    kinds = quantization.QuantType
    float_nodes = stem.float_nodes(prepared) if _has_blocked_layout(target) else []
    calibrate = partial(_calibrate, prepared, inputs)
    with intermediate(network, "onnxruntime ranges", {}, calibrate) as ranges:
        quantization.quantize_static(
            prepared,
            out,
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=[
                *HEAVY,
                *(BETWEEN if options.get("quantize") == "between" else ()),
            ],
            per_channel=bool(options["per_channel"]),
            reduce_range=reduce_range,
            activation_type=kinds.QInt8 if signed else kinds.QUInt8,
            weight_type=kinds.QInt8,
            nodes_to_exclude=float_nodes,
            calibrate_method=quantization.CalibrationMethod.MinMax,
            calibration_cache_path=ranges / _RANGES,
            extra_options={"ActivationSymmetric": signed, "QuantizeBias": not gpu},
        )
    prepared.unlink()
    method = "min-max, outliers among runs cut"
    calibration = {"source": source, "runs": len(inputs), "method": method}
    return {
        **_described(out, _INTEGER),
        "reduce_range": reduce_range,
        "calibration": calibration,
        "float_nodes": len(float_nodes),
    }


def to_float16(
    network: Network,
    target: TargetSpec,  # noqa: ARG001
    options: Options,  # noqa: ARG001
    out: Path,
) -> dict[str, Any]:
    """Write ``out`` with float16 operators, and float32 inputs and outputs; returns provenance."""
    # Importing onnxruntime.transformers adds its own folder to sys.path.
    from onnxruntime.transformers.float16 import convert_float_to_float16  # noqa: PLC0415

    _refuse_large(network)
    model = onnx.load(network.source_path)
    onnx.save(convert_float_to_float16(model, keep_io_types=True), out)
    return _described(out, frozenset({"Cast"}))


#: Converter by precision.
CONVERTERS: dict[str, Callable[[Network, TargetSpec, Options, Path], dict[str, Any]]] = {
    "int8-dynamic": quantize_dynamic,
    "int8-static": quantize_static,
    "float16": to_float16,
}


class _Reader(quantization.CalibrationDataReader):  # type: ignore[misc]  # the package is untyped
    """Yields calibration inputs to the quantiser, one run at a time."""

    def __init__(self, inputs: list[dict[str, Array]]) -> None:
        self._inputs: Iterator[dict[str, Array]] = iter(inputs)

    def get_next(self) -> dict[str, Array] | None:
        return next(self._inputs, None)


def _prepare(network: Network, folder: Path) -> Path:
    """The network at an opset the quantiser supports, with folded constants and inferred shapes, as
    a file in ``folder`` beside which the quantiser may write."""
    _refuse_large(network)
    # The quantiser logs each step to the root logger.
    logging.getLogger().setLevel(logging.ERROR)

    def make(shared: Path) -> None:
        upgraded = folder / "upgraded.onnx"
        onnx.save(raise_opset(onnx.load(network.source_path)), upgraded)
        # Symbolic shape inference needs sympy, and calibration by runs gains little from it.
        quant_pre_process(upgraded, shared / _PREPARED, skip_symbolic_shape=True)
        upgraded.unlink()
        _flatten_biases(shared / _PREPARED)

    prepared = folder / _PREPARED
    with intermediate(network, "onnxruntime prepared network", {}, make) as shared:
        shutil.copyfile(shared / _PREPARED, prepared)
    return prepared


def _flatten_biases(path: Path) -> None:
    """Give biases of ``Gemm`` one dimension, in place: scikit-learn's have the shape ``[1, n]``,
    which the quantiser takes for one channel."""
    model = onnx.load(path)
    names = {
        node.input[2] for node in model.graph.node if node.op_type == "Gemm" and node.input[2:]
    }
    readers = Counter(name for node in model.graph.node for name in node.input)
    rows = [
        tensor
        for tensor in model.graph.initializer
        if tensor.name in names and readers[tensor.name] == 1 and _is_row(tensor)
    ]
    for tensor in rows:
        del tensor.dims[0]
    if rows:
        onnx.save(model, path)


def _is_row(tensor: onnx.TensorProto) -> bool:
    return len(tensor.dims) == 2 and tensor.dims[0] == 1


def _calibrate(prepared: Path, inputs: list[dict[str, Array]], folder: Path) -> None:
    """Write the ranges of all tensors that any candidate quantises."""
    method = quantization.CalibrationMethod.MinMax
    runs = []
    with TemporaryDirectory() as scratch:
        calibrator = create_calibrator(
            prepared,
            [*HEAVY, *BETWEEN],
            augmented_model_path=f"{scratch}/augmented.onnx",
            calibrate_method=method,
        )
        for each in inputs:
            # It would merge the ranges of all runs.
            calibrator.calibrate_tensors_range = None
            calibrator.collect_data(_Reader([each]))
            data = calibrator.compute_data()
            runs.append({name: tensor.range_value for name, tensor in data.items()})
    ranges = {name: _without_outliers([run[name] for run in runs]) for name in runs[0]}
    save_tensors_data(TensorsData(method, ranges), folder / _RANGES)


def _without_outliers(ranges: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The range of a tensor from those of each run: lowest and highest value."""
    lowest, highest = (np.stack(ends) for ends in zip(*ranges, strict=True))
    magnitudes = np.maximum(np.abs(lowest), np.abs(highest))
    largest = magnitudes.max()
    share = min(1.0, _MOST_OF_MEAN * float(magnitudes.mean()) / float(largest)) if largest else 1.0
    return np.nanmin(lowest, axis=0) * share, np.nanmax(highest, axis=0) * share


def _reduces_range(target: TargetSpec) -> bool:
    """Whether weights need 7 bits: without VNNI, sums of two 8-bit products saturate in 16 bits."""
    on_processor = target.architecture == "x86-64" and not _is_gpu(target)
    return on_processor and not _VNNI & target.features


def _has_blocked_layout(target: TargetSpec) -> bool:
    """Whether ONNX Runtime uses its blocked layout, in which a stem is fast in float32."""
    return target.architecture == "x86-64" and not _is_gpu(target)


def _is_gpu(target: TargetSpec) -> bool:
    return "cuda" in target.features


def _refuse_large(network: Network) -> None:
    size = size_bytes(network.source_path)
    if size > MOST_BYTES:
        raise InvalidCandidate(
            f"the network has {size} bytes; conversion supports up to {MOST_BYTES}"
        )


def _described(out: Path, converted: frozenset[str]) -> dict[str, Any]:
    """Provenance: operators of ``out`` by kind; ``converted`` are those of reduced precision."""
    operators = Counter(n.op_type for n in onnx.load(out, load_external_data=False).graph.node)
    if not converted & operators.keys():
        raise InvalidCandidate("no operator of this network could be converted")
    return {"operators": dict(operators)}
