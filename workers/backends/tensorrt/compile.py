"""From an ONNX file to a TensorRT engine. Runs in the limited child process of a build."""

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

#: Largest size of an open dimension, other than the batch, of a network without convolutions:
#: what texts and tables are cut to.
_LONGEST = 512
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})


def compile_engine(
    network: Network, target: TargetSpec, options: Options, path: Path
) -> dict[str, Any]:
    """Write an engine to ``path``; returns its provenance.

    Raises:
        InvalidCandidate: TensorRT cannot take the network; names the operator where it says so.
    """
    source, provenance = _lowered(network, target, options, path.with_suffix(".onnx"))
    log = ErrorLog()
    builder = trt.Builder(log)
    # Required up to version 10; from 11 on networks are strongly typed in any case.
    definition = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(definition, log)
    if not parser.parse_from_file(str(source)):
        raise InvalidCandidate(_complaint(parser) or log.reason())
    config = builder.create_builder_config()
    config.builder_optimization_level = EFFORTS[str(options["effort"])]
    # Layers keep the names of the nodes they stand for, which profiles need.
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
    if source != network.model_path:
        source.unlink()
    sizes = {name: list(sizes) for name, sizes in ranges.items()}
    # Kernels are chosen by timing them.
    return provenance | {"reproducible": False, "sizes": sizes}


def _lowered(
    network: Network, target: TargetSpec, options: Options, path: Path
) -> tuple[Path, dict[str, Any]]:
    """The network in the precision asked for, and how it was lowered."""
    match options["precision"]:
        case "float16":
            return path, quantize.to_float16(network, target, options, path)
        case "int8":
            wanted: Options = {"per_channel": True, "quantize": "heavy"}
            return path, quantize.quantize_static(network, target, wanted, path)
        case _:
            return network.model_path, {}


def _ranges(network: Network) -> dict[str, tuple[int, int, int]]:
    """Named dimension to the least, usual and largest size the engine takes.

    The usual one is what it is tuned for: a batch of one, and elsewhere the samples' size.
    """
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
    # Halved too often, a picture is smaller than the windows that slide over it.
    pictures = bool(_CONVOLUTIONS & network.operators.keys())
    return {
        name: (1, usual[name], max(CHUNK_ROWS, usual[name]))
        if name not in inner
        else (max(1, inner[name] // 2), inner[name], 4 * inner[name])
        if pictures
        else (1, inner[name], max(_LONGEST, inner[name]))
        for name in usual
    }


def _profile(
    builder: Any, definition: Any, network: Network, ranges: dict[str, tuple[int, int, int]]
) -> Any:
    """The sizes an engine takes, per input."""
    profile = builder.create_optimization_profile()
    taken = {definition.get_input(i).name for i in range(definition.num_inputs)}
    for spec in network.inputs:
        if spec.name in taken and any(isinstance(size, str) for size in spec.shape):
            bounds = [
                tuple(size if isinstance(size, int) else ranges[size][which] for size in spec.shape)
                for which in range(3)
            ]
            profile.set_shape(spec.name, *bounds)
    return profile


def _complaint(parser: Any) -> str:
    """What the parser says of the first node it cannot take."""
    if not parser.num_errors:
        return ""
    error = parser.get_error(0)
    operator = error.node_operator()
    return f"{operator}: {error.desc()}" if operator else str(error.desc())
