"""Reads a network into OpenVINO, writes its IR, and looks at what the CPU makes of it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.runtimes.quiet_openvino import ov, reason
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network

#: In the executable graph, what stands for a tensor and computes nothing.
_TENSORS = frozenset({"Input", "Const", "Output"})
_REAL = frozenset({ov.Type.f16, ov.Type.f32, ov.Type.f64})
#: OpenVINO's names of what a kernel computes in. Unsigned bytes count as int8, as everywhere here.
_PRECISIONS = {
    "f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16", "i8": "int8",
    "u8": "int8", "i32": "int32", "i64": "int64", "boolean": "bool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Executed:
    """An operator of the executable graph.

    Attributes:
        precision: What it computes in; ``None`` where OpenVINO does not say.
        layout: Of its first output: axes by letter, blocks by number, such as ``aBcd16b``.
        originals: Names of the IR's operators that became part of it.
        sources: Names of the operators it takes tensors from.
    """

    name: str
    operator: str
    implementation: str
    precision: str | None
    layout: str
    originals: tuple[str, ...]
    sources: tuple[str, ...]


def read_onnx(network: Network) -> Any:
    """The network as OpenVINO's frontend for ONNX reads it.

    Raises:
        InvalidCandidate: it holds what the frontend or the CPU cannot take; names it.
    """
    path = network.model_path
    try:
        # Named, because left to choose OpenVINO would try every format it knows on the bytes.
        frontend = ov.frontend.FrontEndManager().load_by_framework("onnx")
        model = frontend.convert(frontend.load(str(path)))
    # What it raises shares no base below Exception.
    except Exception as error:
        why = reason(error).replace(str(path), path.name).replace(str(path.parent), "")
        raise InvalidCandidate(f"OpenVINO cannot read {path.name}: {why}") from error
    _refuse_text(model)
    names = [[port.any_name for port in ports] for ports in (model.inputs, model.outputs)]
    wanted = [[spec.name for spec in specs] for specs in (network.inputs, network.outputs)]
    if names != wanted:
        raise InvalidCandidate(f"OpenVINO reads the signature as {names}, not as {wanted}")
    return model


def save(model: Any, path: Path) -> None:
    """Write ``path`` and, beside it, its weights as they are."""
    ov.save_model(model, path, compress_to_fp16=False)


def has_nan(model: Any) -> bool:
    """Whether a weight is NaN or infinite."""
    return any(
        not np.isfinite(node.data).all()
        for node in model.get_ops()
        if node.get_type_name() == "Constant" and node.get_output_element_type(0) in _REAL
    )


def executed(compiled: Any) -> list[Executed]:
    """What a compiled network executes, in order; tensors and what was computed before left out.

    Before its first run nothing has been executed, and what would have been is told from what was
    folded by its inputs.
    """
    found = []
    computed: set[str] = set()
    for node in compiled.get_runtime_model().get_ordered_ops():
        told = {key: str(value.value) for key, value in node.get_rt_info().items()}
        sources = [port.get_source_output().get_node().friendly_name for port in node.inputs()]
        name = node.friendly_name
        if told["layerType"] == "Input" or computed.intersection(sources):
            computed.add(name)
        if told["layerType"] in _TENSORS or name not in computed:
            continue
        found.append((int(told["execOrder"]), _executed(name, told, sources)))
    return [each for _, each in sorted(found, key=lambda pair: pair[0])]


def precisions(compiled: Any) -> dict[str, int]:
    """What a compiled network computes in: precision to the number of its operators."""
    return dict(Counter(each.precision for each in executed(compiled) if each.precision))


def _executed(name: str, told: dict[str, str], sources: list[str]) -> Executed:
    return Executed(
        name=name,
        operator=told["layerType"],
        implementation=told["primitiveType"],
        precision=_PRECISIONS.get(told["runtimePrecision"]),
        layout=told["outputLayouts"].partition(",")[0],
        originals=tuple(filter(None, told["originalLayersNames"].split(","))),
        sources=tuple(sources),
    )


def _refuse_text(model: Any) -> None:
    for node in model.get_ops():
        if any(port.get_element_type() == ov.Type.string for port in node.outputs()):
            # 2026.4 ends the process with a corrupted heap on the smallest of them.
            raise InvalidCandidate(
                f"{node.get_type_name()} {node.friendly_name} gives text, on which OpenVINO's CPU"
                " plugin corrupts its memory"
            )
