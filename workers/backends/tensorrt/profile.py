"""Profiles engines layer by layer. With a profiler, TensorRT runs its layers one after another, so
their sum exceeds the time of a normal run."""

import json
import re
from collections.abc import Mapping
from statistics import median
from time import perf_counter_ns
from typing import Any

import tensorrt as trt

from hpcfair.errors import HpcfairError
from workers.backends.attribution import Operator, attribute, read_graph
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import CallSite, Profile
from workers.engine.types import Network

_RUNS, _WARMUP = 20, 3
#: The parser's note of a layer's nodes in its metadata.
_NODES = re.compile(r"\[ONNX Layer: ([^\]]*)\]")
_CONVERSIONS = frozenset({"Reformat", "NoOp", "Shuffle", "Constant", "CopyOp"})


class _LayerTimes(trt.IProfiler):  # type: ignore[misc]  # the package is untyped
    """Milliseconds of each layer in all runs, in execution order."""

    def __init__(self) -> None:
        trt.IProfiler.__init__(self)
        self.times: dict[str, list[float]] = {}

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        """Called by TensorRT."""
        self.times.setdefault(layer_name, []).append(ms)


def profile_build(network: Network, session: Session, inputs: Mapping[str, Array]) -> Profile:
    """Run an opened engine under TensorRT's profiler, and close it. Raises InvalidCandidate if the
    engine does not run."""
    runtime: Any = session
    times, totals = _LayerTimes(), []
    try:
        for _ in range(_WARMUP):
            runtime.run(inputs)
        runtime.observe(times)
        for _ in range(_RUNS):
            started = perf_counter_ns()
            runtime.run(inputs)
            totals.append(perf_counter_ns() - started)
        layers = {layer["Name"]: layer for layer in _layers(runtime.describe())}
    except HpcfairError as error:
        raise InvalidCandidate(f"it does not run under the profiler: {error.detail}") from error
    finally:
        session.close()
    operators = [_operator(layers.get(name, {})) for name in times.times]
    attribution = attribute(read_graph(network.model_path), operators)
    return Profile(
        method=f"TensorRT {trt.__version__} IProfiler, medians of {_RUNS} runs",
        total_ns=int(median(totals)),
        call_sites=tuple(
            _site(name, ms, layers.get(name, {}), links)
            for (name, ms), links in zip(times.times.items(), attribution.links, strict=True)
        ),
        folded=attribution.folded,
    )


def _layers(described: str) -> list[dict[str, Any]]:
    """Layers with details; layers without details are plain names and left out."""
    return [layer for layer in json.loads(described)["Layers"] if isinstance(layer, dict)]


def _operator(layer: Mapping[str, Any]) -> Operator:
    kind = str(layer.get("LayerType", ""))
    return Operator(
        kind,
        names=tuple(_NODES.findall(str(layer.get("Metadata", "")))),
        outputs=tuple(tensor["Name"] for tensor in layer.get("Outputs", ())),
        converts=kind in _CONVERSIONS,
    )


def _site(name: str, ms: list[float], layer: Mapping[str, Any], links: Any) -> CallSite:
    ns = [round(each * 1e6) for each in ms]
    middle = int(median(ns))
    outputs = layer.get("Outputs", ())
    form = str(outputs[0].get("Format/Datatype", "")) if outputs else ""
    return CallSite(
        name=name,
        operator=str(layer.get("LayerType", "unknown")),
        median_ns=middle,
        mad_ns=int(median(abs(each - middle) for each in ns)),
        runs=len(ns),
        precision=_precision(form),
        implementation=layer.get("TacticName") or None,
        nodes=links,
    )


def _precision(form: str) -> str | None:
    """Element type of a format such as ``Channel major FP16 format where channel % 8 == 0``."""
    precisions = {"FP32": "float32", "FP16": "float16", "BF16": "bfloat16", "INT8": "int8"}
    precisions |= {"Float": "float32", "Half": "float16", "Int8": "int8", "BFloat16": "bfloat16"}
    matches = (name for word, name in precisions.items() if re.search(rf"\b{word}\b", form))
    return next(matches, None)
