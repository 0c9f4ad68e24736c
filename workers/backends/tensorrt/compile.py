"""Compiles ONNX files to TensorRT engines. Runs in the child process of a build."""

from pathlib import Path
from typing import Any

import tensorrt as trt

from hpcfair.runtimes.tensorrt import ErrorLog
from workers.backends.onnxruntime import quantize
from workers.backends.tensorrt.space import EFFORTS
from workers.engine.calibration import calibration_inputs
from workers.engine.errors import InvalidCandidate
from workers.engine.random_inputs import open_sizes
from workers.engine.testset import CHUNK_ROWS
from workers.engine.types import Network, Options, TargetSpec

#: Largest size of a dynamic dimension, other than the batch, of networks without convolutions, such
#: as the length of texts.
_LONGEST = 512
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})


def compile_engine(
    network: Network, target: TargetSpec, options: Options, path: Path
) -> dict[str, Any]:
    """Write an engine to ``path``; returns its provenance. Raises InvalidCandidate, which names the
    operator if known, if TensorRT cannot compile the network."""
    source, provenance = _converted(network, target, options, path.with_suffix(".onnx"))
    log = ErrorLog()
    builder = trt.Builder(log)
    # Required up to version 10; from version 11 on all networks are strongly typed.
    definition = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(definition, log)
    if not parser.parse_from_file(str(source)):
        raise InvalidCandidate(_parser_error(parser) or log.reason())
    config = builder.create_builder_config()
    config.builder_optimization_level = EFFORTS[str(options["effort"])]
    # Layers keep the names of their nodes, which profiles need.
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if options["precision"] == "float32" and not options.get("tf32"):
        config.clear_flag(trt.BuilderFlag.TF32)
    ranges = _ranges(network)
    if ranges:
        config.add_optimization_profile(_profile(builder, definition, network, ranges))
    plan = builder.build_serialized_network(definition, config)
    if plan is None:
        raise InvalidCandidate(f"TensorRT builds no engine: {log.reason()}")
    path.write_bytes(bytes(plan))
    if source != network.source_path:
        source.unlink()
    sizes = {name: list(sizes) for name, sizes in ranges.items()}
    # TensorRT selects kernels by timing them, so builds are not reproducible.
    return provenance | {"reproducible": False, "sizes": sizes}


def _converted(
    network: Network, target: TargetSpec, options: Options, path: Path
) -> tuple[Path, dict[str, Any]]:
    """The network in the precision of the options, and provenance of the conversion."""
    match options["precision"]:
        case "float16":
            return path, quantize.to_float16(network, target, options, path)
        case "int8":
            how: Options = {"per_channel": True, "quantize": "heavy"}
            return path, quantize.quantize_static(network, target, how, path)
        case _:
            return network.source_path, {}


def _ranges(network: Network) -> dict[str, tuple[int, int, int]]:
    """Smallest, usual and largest size by named dimension. Engines are optimised for the usual
    size: batch size 1, and the samples' size elsewhere."""
    usual = open_sizes(network)
    if not usual:
        return {}
    inputs, _ = calibration_inputs(network)
    inner = {
        size: inputs[0][spec.name].shape[axis]
        for spec in network.inputs
        for axis, size in enumerate(spec.shape)
        if axis and isinstance(size, str)
    }
    # Images that are much smaller than usual would be smaller than the convolution windows.
    has_images = bool(_CONVOLUTIONS & network.operators.keys())
    return {
        name: (1, usual[name], max(CHUNK_ROWS, usual[name]))
        if name not in inner
        else (max(1, inner[name] // 2), inner[name], 4 * inner[name])
        if has_images
        else (1, inner[name], max(_LONGEST, inner[name]))
        for name in usual
    }


def _profile(
    builder: Any, definition: Any, network: Network, ranges: dict[str, tuple[int, int, int]]
) -> Any:
    profile = builder.create_optimization_profile()
    names = {definition.get_input(i).name for i in range(definition.num_inputs)}
    for spec in network.inputs:
        if spec.name in names and any(isinstance(size, str) for size in spec.shape):
            bounds = [
                tuple(size if isinstance(size, int) else ranges[size][bound] for size in spec.shape)
                for bound in range(3)
            ]
            profile.set_shape(spec.name, *bounds)
    return profile


def _parser_error(parser: Any) -> str:
    """The parser's message on the first node it does not support."""
    if not parser.num_errors:
        return ""
    error = parser.get_error(0)
    operator = error.node_operator()
    return f"{operator}: {error.desc()}" if operator else str(error.desc())
