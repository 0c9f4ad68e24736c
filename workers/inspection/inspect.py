"""Inspects a folder of untrusted files and returns the facts of its networks.

::

    find *.onnx ─▶ read ─▶ check safety ─▶ check operators ─▶ check the graph
        ─▶ drop weights ─▶ inline functions ─▶ infer shapes ─▶ data flow
        ─▶ signature, histogram, cost, motifs, class, hash, embedding
    find *.pt2, *.tflite ─▶ check safety ─▶ compare signatures

Without an ONNX file, a TensorFlow Lite file is the network.
"""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import onnx

from hpcfair.formats import ONNX, TFLITE
from workers.engine.random_inputs import sizes_of
from workers.engine.sizes import TensorsTooLarge, require_run_size
from workers.engine.types import tensor_specs
from workers.inspection.alternative_formats import find, read_alternatives
from workers.inspection.architecture import architecture_class
from workers.inspection.bounds import integer_bounds
from workers.inspection.convolutions import dense_convolutions
from workers.inspection.cost import cost
from workers.inspection.embedding import embedding
from workers.inspection.errors import InspectionError, invalid, printable
from workers.inspection.flow import Flow
from workers.inspection.identity import graph_hash
from workers.inspection.motifs import find_motifs
from workers.inspection.numbering import build
from workers.inspection.operators import check_operators, histogram
from workers.inspection.reading import read_model
from workers.inspection.safety import check
from workers.inspection.samples import NAME as SAMPLES
from workers.inspection.samples import read_samples
from workers.inspection.shapes import with_shapes
from workers.inspection.signature import signature
from workers.inspection.skeleton import OnnxFailure, checkable, inlined, skeleton
from workers.inspection.tflite_graph import read_tflite_graph
from workers.inspection.topology.drawings import Drawings
from workers.inspection.topology.weights import Weights, read_weights

#: Upper bound on the ONNX files of one revision that are read.
MAX_GRAPHS = 32
#: Upper bound on the warnings of one revision, each a line of the job's log.
MAX_WARNINGS = 100
Facts = dict[str, Any]
_PREFERRED = ("model.onnx", "onnx/model.onnx")


def inspect(folder: str, path: str | None = None, topologies: str | None = None) -> dict[str, Any]:
    """Entry point of the child process: :func:`read_folder`, with an error returned as data.

    Args:
        topologies: Existing folder to which the drawings of the networks are written.

    Returns:
        What :func:`read_folder` returns, or ``{"error": {"code", "detail", "hint"}}``.
    """
    drawings = Drawings(Path(topologies)) if topologies else None
    try:
        return read_folder(Path(folder), path, drawings)
    except InspectionError as error:
        return {"error": {"code": error.code, "detail": error.detail, "hint": error.hint}}


def read_folder(
    folder: Path, path: str | None = None, drawings: Drawings | None = None
) -> dict[str, Any]:
    """Facts of a revision's files, ready for JSON.

    Args:
        folder: Contains the files. Nothing outside is read, and no link is followed.
        path: The only ONNX file to read, relative to ``folder``; default: all. Without an ONNX
            file, a TensorFlow Lite file is the network.
        drawings: Gains the topology of each network that is read.

    Returns:
        ``{"graphs": [facts], "primary": path, "samples": {...} | None, "warnings": [text],
        "topologies": {path: name of file}}``, with facts as :func:`read_graph` returns them; the
        primary file's include its alternative formats. Another file that cannot be read or used
        is a warning.

    Raises:
        InspectionError: the primary file or the samples cannot be used, or there is no file.
    """
    warnings: list[str] = []
    if paths := [path] if path is not None else find(folder, ONNX):
        primary = choose_primary(folder, paths)
        facts = _read_all(folder, primary, paths, warnings, drawings)
    elif paths := find(folder, TFLITE):
        # Variants in reduced precision are alternative formats, and are compared with this one.
        facts = [read_tflite_graph(folder, choose_full_precision(folder, paths))]
        primary = facts[0]["path"]
        if drawings:
            drawings.add_tflite(folder / primary, primary, warnings)
    else:
        raise InspectionError(
            "no_model_file",
            "There is neither an ONNX nor a TensorFlow Lite file among the files.",
            "Add one, best as model.onnx; .tflite and .pt2 files beside it are checked against it.",
        )
    _require_runnable(primary, facts[0]["signature"])
    facts[0]["forms"] = read_alternatives(folder, primary, facts[0]["signature"], warnings)
    samples = None
    if os.path.lexists(folder / SAMPLES):
        described = read_samples(folder / SAMPLES, facts[0]["signature"])
        warnings += [f"{SAMPLES} does not fit {primary}: {p}" for p in described.problems]
        samples = described.as_dict()
    if len(warnings) > MAX_WARNINGS:
        warnings[MAX_WARNINGS - 1 :] = [f"{len(warnings) - MAX_WARNINGS + 1:,} more warnings."]
    return {
        "graphs": facts,
        "primary": primary,
        "samples": samples,
        "warnings": warnings,
        "topologies": drawings.files if drawings else {},
    }


def _require_runnable(shown: str, signature: dict[str, Any]) -> None:
    """Refuse a network whose tensors nobody could hold, before anything is allocated for them."""
    inputs, outputs = (tensor_specs(signature[side]) for side in ("inputs", "outputs"))
    sizes = sizes_of(inputs, {})
    try:
        require_run_size("input", inputs, sizes)
        require_run_size("output", outputs, sizes)
    except TensorsTooLarge as error:
        raise InspectionError("tensors_too_large", f"{shown}: {printable(str(error))}") from error


def _read_all(
    folder: Path,
    primary: str,
    paths: Sequence[str],
    warnings: list[str],
    drawings: Drawings | None,
) -> list[Facts]:
    warnings += [f"{shown} was not read." for shown in paths[MAX_GRAPHS:]]
    facts = [read_graph(folder, primary, warnings, drawings)]
    for other in [shown for shown in paths[:MAX_GRAPHS] if shown != primary]:
        try:
            facts.append(read_graph(folder, other, warnings, drawings))
        except InspectionError as error:
            warnings.append(f"{error.code}: {error.detail}")
    return facts


def choose_primary(folder: Path, paths: Sequence[str]) -> str:
    """The file to tune: ``model.onnx``, else ``onnx/model.onnx``, else the largest."""
    for preferred in _PREFERRED:
        if preferred in paths:
            return preferred
    return max(paths, key=lambda shown: (_size(folder / shown), shown))


def choose_full_precision(folder: Path, paths: Sequence[str]) -> str:
    """The TensorFlow Lite file with the most bytes of weights: the others are reduced variants."""
    return max(paths, key=lambda shown: (_size(folder / shown), shown))


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def read_graph(
    folder: Path, shown: str, warnings: list[str], drawings: Drawings | None = None
) -> Facts:
    """Facts of the ONNX file ``shown``; its peculiarities are appended to ``warnings``, and its
    topology is added to ``drawings``.

    Returns:
        The fields of ``hpcfair.tickets.GraphFacts``. The class is not imported, because the
        confined child process cannot read the code of the registry.

    Raises:
        InspectionError: it cannot be read, trusted or run.
    """
    parts = PurePosixPath(shown).parts
    if ".." in parts or shown.startswith("/"):
        raise InspectionError("no_model_file", f"{printable(shown)!r} is outside the files.")
    path = folder.joinpath(*parts)
    model, external, weights = _read_safely(path, shown, with_weights=drawings is not None)
    _check_graph(model, shown, warnings)
    inside = [file.relative_to(folder).as_posix() for file in external]
    facts, flow = _facts(model, shown, inside, warnings)
    if drawings is not None and weights is not None:
        drawings.add(model, shown, flow, weights, warnings)
    return facts


def _read_safely(
    path: Path, shown: str, *, with_weights: bool
) -> tuple[onnx.ModelProto, list[Path], Weights | None]:
    """The model without its weights, after the safety checks, the files of its weights, and their
    statistics."""
    model = read_model(path, shown)
    external = check(model, path, shown)
    check_operators(model, shown)
    weights = read_weights(model, external) if with_weights else None
    files = list(dict.fromkeys(tensor.path for tensor in external))
    return skeleton(model, external), files, weights


def _check_graph(model: onnx.ModelProto, shown: str, warnings: list[str]) -> None:
    copy, made_up = checkable(model)
    if made_up:
        warnings.append(f"{shown} does not state the rank of every input and output.")
    try:
        onnx.checker.check_model(copy)
    except OnnxFailure as error:
        raise invalid(shown, str(error)) from error


def _facts(
    model: onnx.ModelProto, shown: str, external: list[str], warnings: list[str]
) -> tuple[Facts, Flow | None]:
    """Facts of a checked skeleton, and its data flow unless functions were inlined."""
    flat, salt = inlined(model), ""
    if flat is None:
        warnings.append(f"{shown} has functions that could not be inlined.")
        flat, salt = model, repr([f.SerializeToString(deterministic=True) for f in model.functions])
    described = signature(flat)
    flow = build(with_shapes(flat, dynamic=1))
    if not flow.main.steps:
        warnings.append(f"{shown} computes nothing.")
    motifs, spent = find_motifs(flow), cost(flow)
    facts = {
        "path": shown,
        "format": "onnx",
        "graph_hash": graph_hash(flow, described["inputs"], salt),
        "architecture_class": architecture_class(motifs),
        "parameters": spent.parameters,
        "macs": spent.macs,
        "signature": described,
        "operators": histogram(flow),
        "embedding": embedding(flow, motifs, spent, described),
        "opsets": {opset.domain or "ai.onnx": opset.version for opset in model.opset_import},
        "ir_version": model.ir_version,
        "producer": _producer(model),
        "external_data": external,
        "weight_bytes": spent.weight_bytes,
        "weight_dtypes": spent.weight_dtypes,
        "integer_bounds": integer_bounds(flow, [tensor["name"] for tensor in described["inputs"]]),
        "convolutions": dense_convolutions(flow),
        "forms": [],
    }
    return facts, None if model.functions else flow


def _producer(model: onnx.ModelProto) -> str:
    words = [w for w in (model.producer_name, model.producer_version) if isinstance(w, str)]
    return printable(" ".join(words), 200)
