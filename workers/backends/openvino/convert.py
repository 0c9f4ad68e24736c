"""Reads networks into OpenVINO, writes their IR, and describes what the CPU executes."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.runtimes.quiet_openvino import ov, reason
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network

#: Operators of the executable graph that represent tensors and compute nothing.
_TENSORS = frozenset({"Input", "Const", "Output"})
_REAL = frozenset({ov.Type.f16, ov.Type.f32, ov.Type.f64})
#: Precision by OpenVINO's name. Unsigned bytes count as int8.
_PRECISIONS = {
    "f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16", "i8": "int8",
    "u8": "int8", "i32": "int32", "i64": "int64", "boolean": "bool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ExecutedOperator:
    """An operator of the executable graph.

    Attributes:
        precision: Precision of the computation; ``None`` if unknown.
        layout: Layout of the first output: axes as letters, blocks as numbers, such as ``aBcd16b``.
        originals: Names of the IR's operators that are part of it.
        sources: Names of the operators that produce its inputs.
    """

    name: str
    operator: str
    implementation: str
    precision: str | None
    layout: str
    originals: tuple[str, ...]
    sources: tuple[str, ...]


def read_onnx(network: Network) -> Any:
    """Read the network with OpenVINO's frontend for ONNX. Raises InvalidCandidate, which names the
    operator, if the frontend or the CPU does not support one."""
    path = network.source_path
    try:
        # Explicit, because OpenVINO would otherwise try each of its formats on the bytes.
        frontend = ov.frontend.FrontEndManager().load_by_framework("onnx")
        model = frontend.convert(frontend.load(str(path)))
    # OpenVINO's exceptions share no base below Exception.
    except Exception as error:
        why = reason(error).replace(str(path), path.name).replace(str(path.parent), "")
        raise InvalidCandidate(f"OpenVINO cannot read {path.name}: {why}") from error
    _refuse_text(model)
    names = [[port.any_name for port in ports] for ports in (model.inputs, model.outputs)]
    expected = [[spec.name for spec in specs] for specs in (network.inputs, network.outputs)]
    if names != expected:
        raise InvalidCandidate(f"OpenVINO reads the signature as {names}, not as {expected}")
    return model


def save(model: Any, path: Path) -> None:
    """Write ``path`` and a file with the unconverted weights beside it."""
    ov.save_model(model, path, compress_to_fp16=False)


def has_nan(model: Any) -> bool:
    """Whether a weight is NaN or infinite."""
    return any(
        not np.isfinite(node.data).all()
        for node in model.get_ops()
        if node.get_type_name() == "Constant" and node.get_output_element_type(0) in _REAL
    )


def executed(compiled: Any) -> list[ExecutedOperator]:
    """Operators that a compiled network executes, in order, without tensors: those that depend on
    an input, also before the first run."""
    numbered = []
    dependent: set[str] = set()
    for node in compiled.get_runtime_model().get_ordered_ops():
        facts = {key: str(value.value) for key, value in node.get_rt_info().items()}
        sources = [port.get_source_output().get_node().friendly_name for port in node.inputs()]
        name = node.friendly_name
        if facts["layerType"] == "Input" or dependent.intersection(sources):
            dependent.add(name)
        if facts["layerType"] in _TENSORS or name not in dependent:
            continue
        numbered.append((int(facts["execOrder"]), _executed(name, facts, sources)))
    return [each for _, each in sorted(numbered, key=lambda pair: pair[0])]


def precisions(compiled: Any) -> dict[str, int]:
    """Number of executed operators by precision."""
    return dict(Counter(each.precision for each in executed(compiled) if each.precision))


def _executed(name: str, facts: dict[str, str], sources: list[str]) -> ExecutedOperator:
    return ExecutedOperator(
        name=name,
        operator=facts["layerType"],
        implementation=facts["primitiveType"],
        precision=_PRECISIONS.get(facts["runtimePrecision"]),
        layout=facts["outputLayouts"].partition(",")[0],
        originals=tuple(filter(None, facts["originalLayersNames"].split(","))),
        sources=tuple(sources),
    )


def _refuse_text(model: Any) -> None:
    for node in model.get_ops():
        if any(port.get_element_type() == ov.Type.string for port in node.outputs()):
            # OpenVINO 2026.4 crashes with a corrupted heap on all networks with text.
            raise InvalidCandidate(
                f"{node.get_type_name()} {node.friendly_name} has text outputs, on which"
                " OpenVINO's CPU plugin corrupts its memory"
            )
