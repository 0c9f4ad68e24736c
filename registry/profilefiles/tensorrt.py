"""Reads ``trtexec --exportProfile``, with ``--exportLayerInfo`` beside it if there is one.

The profile is ``[{"count": 625}, {"name", "timeMs", "averageMs", "medianMs", "percentage"}, ...]``:
iterations, then the layers in the order of execution; ``medianMs`` exists since TensorRT 8.5. A
layer's name joins those of the nodes that it fuses: ``conv1 + PWN(relu1)``,
``{ForeignNode[first...last]}``, ``Reformatting CopyNode for Input Tensor 0 to conv1``. Layer
information is ``{"Layers": [{"Name", "LayerType", "Outputs", "TacticName", "Metadata"}]}`` with
``--profilingVerbosity=detailed``; its metadata names the nodes as ``[ONNX Layer: conv1]``,
separated by U+001F.
"""

import re
from collections.abc import Mapping
from typing import Any

from registry.profilefiles.bounds import number, parse_json, texts
from registry.profilefiles.errors import ProfileFault
from registry.profilefiles.types import MOST_CALLS, MeasuredCall, ProfileFile

NAME = "tensorrt"
_NS_IN_MS = 1e6
_NODES = re.compile(r"\[ONNX Layer: ([^\]]*)\]")
_FOREIGN = re.compile(r"\{ForeignNode\[(.+?)\.\.\.(.+?)\]\}")
_REFORMAT = re.compile(r"^Reformatting CopyNode for (?:Input|Output) Tensor \d+ (?:to|of) (.+)$")
_CONVERSIONS = frozenset({"Reformat", "NoOp", "Shuffle", "Constant", "CopyOp"})
_PRECISIONS = (
    ("FP32", "float32"), ("Float", "float32"), ("FP16", "float16"), ("Half", "float16"),
    ("BF16", "bfloat16"), ("BFloat16", "bfloat16"), ("INT8", "int8"), ("Int8", "int8"),
)  # fmt: skip


def recognises(data: bytes) -> bool:
    """Whether the file looks like a profile of this tool."""
    return b'"averageMs"' in data


def read(data: bytes, details: bytes | None = None) -> ProfileFile:
    """The layers' medians, or means where the file has no medians. Raises ProfileFault."""
    rows = parse_json(data)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ProfileFault("The file does not contain a list of layers.")
    if len(rows) > MOST_CALLS:
        raise ProfileFault(f"The file has {len(rows):,} layers; at most {MOST_CALLS:,} are read.")
    layers = _layers(details) if details else {}
    counts = [row["count"] for row in rows if "count" in row]
    runs = max(1, round(number(counts[0], what="'count'"))) if counts else 1
    timed = [row for row in rows if "name" in row]
    has_medians = bool(timed) and all("medianMs" in row for row in timed)
    field, statistic = ("medianMs", "medians") if has_medians else ("averageMs", "means")
    calls = tuple(_call(row, field, runs, layers.get(texts(row["name"]), {})) for row in timed)
    notes = [
        "Layers are synchronised with the host when they are profiled, so their sum exceeds a run."
    ]
    if not has_medians:
        notes.append("Times are means: this version of trtexec does not write medians.")
    if details and not any(call.name in layers for call in calls):
        raise ProfileFault("The layer information is of another engine: no layer name matches.")
    return ProfileFile(
        format=NAME,
        method=f"trtexec --exportProfile, {statistic} of {runs} iterations",
        total_ns=sum(call.median_ns for call in calls),
        is_total_stated=False,
        calls=calls,
        notes=tuple(notes),
    )


def _layers(details: bytes) -> dict[str, Mapping[str, Any]]:
    document = parse_json(details)
    layers = document.get("Layers") if isinstance(document, dict) else document
    if not isinstance(layers, list):
        raise ProfileFault("The layer information does not contain a list of layers.")
    return {texts(row["Name"]): row for row in layers if isinstance(row, dict) and "Name" in row}


def _call(row: Mapping[str, Any], field: str, runs: int, layer: Mapping[str, Any]) -> MeasuredCall:
    name = texts(row["name"])
    kind = texts(layer.get("LayerType"))
    reformats = _REFORMAT.match(name)
    foreign = _FOREIGN.search(name)
    stated = tuple(_NODES.findall(str(layer.get("Metadata", ""))))
    outputs = layer.get("Outputs")
    outputs = (
        [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
    )
    shape = outputs[0].get("Dimensions") if outputs else None
    return MeasuredCall(
        name=name,
        operator=kind,
        median_ns=round(number(row.get(field), what=f"{field!r} of {name[:60]!r}") * _NS_IN_MS),
        runs=runs,
        names=stated or names_in(reformats.group(1) if reformats else name),
        span=(foreign.group(1), foreign.group(2)) if foreign and not stated else None,
        outputs=tuple(texts(each.get("Name")) for each in outputs),
        shape=_shape(shape),
        precision=_precision(str(outputs[0].get("Format/Datatype", ""))) if outputs else "",
        implementation=texts(layer.get("TacticName")),
        converts=bool(reformats) or kind in _CONVERSIONS,
    )


def names_in(name: str) -> tuple[str, ...]:
    """Names of nodes in a layer's name: ``a + PWN(PWN(b), c)`` has ``a``, ``b`` and ``c``."""
    if _FOREIGN.search(name):
        return ()
    plain = re.sub(r"\b(?:PWN|CAST|ELTWISE|UNARY|ACTIVATION)\(|[()]", " ", name)
    plain = re.sub(r"\|\||\s\+\s|,", "\x00", plain)
    return tuple(dict.fromkeys(part.strip() for part in plain.split("\x00") if part.strip()))


def _shape(value: object) -> tuple[int, ...] | None:
    if isinstance(value, list) and value and all(type(size) is int for size in value):
        return tuple(value)
    return None


def _precision(form: str) -> str:
    """Element type of a format such as ``Channel major FP16 format where channel % 8 == 0``."""
    return next((name for word, name in _PRECISIONS if re.search(rf"\b{word}\b", form)), "")
