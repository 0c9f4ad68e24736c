"""Makes the normal form of a network and checks it. Runs in a child process.

The steps run in order. The result is compared with the published file. If it differs, the steps run
again one by one, and those whose result differs are left out. Equal files give equal bytes.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import onnx

from workers.backends.normalform.annotations import clear_annotations, drop_annotations
from workers.backends.normalform.check import Published, Unequal
from workers.backends.normalform.constants import fold_constants
from workers.backends.normalform.functions import inline_functions
from workers.backends.normalform.layouts import sink_transpositions
from workers.backends.normalform.lowest import count_lowest, raise_lowest
from workers.backends.normalform.opset import raise_opset
from workers.backends.normalform.pools import fit_pools
from workers.backends.normalform.scales import fold_scales
from workers.backends.onnxruntime.files import refuse_large
from workers.engine.child_work import network_from
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network

_PACKAGES = ("onnx", "onnx-ir", "onnxscript", "onnxruntime")
_LONGEST_REASON = 200
#: Each returns another model, or the one it got. In the order they run: functions hide operators of
#: other steps; folded shapes show the sizes that pools need, and constants beside transpositions.
_STEPS: dict[str, Callable[[onnx.ModelProto], onnx.ModelProto]] = {
    "annotations": drop_annotations,
    "functions": inline_functions,
    "opset": raise_opset,
    "constants": fold_constants,
    "pools": fit_pools,
    "layouts": sink_transpositions,
    "scales": fold_scales,
    "lowest": raise_lowest,
}


@dataclass(slots=True)
class _Attempt:
    """A model after some steps: those that changed it, and those left out with the reason."""

    model: onnx.ModelProto
    steps: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    def apply(self, name: str, check: Callable[[onnx.ModelProto], None] | None = None) -> None:
        """Apply a step, unless it fails or ``check`` raises :class:`Unequal`."""
        try:
            model = _STEPS[name](self.model)
            if model is self.model:
                return
            # Tools add sizes of the values that they infer.
            clear_annotations(model)
            is_changed = _content(model) != _content(self.model)
            if is_changed and check is not None:
                check(model)
        # The tools run on an untrusted file and raise anything.
        except Exception as error:  # noqa: BLE001
            self.skipped[name] = _reason(error)
            return
        if is_changed:
            self.model = model
            self.steps.append(name)


def normalise(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    """Write the normal form of a network into the empty folder ``out``; returns the fields of
    :class:`workers.engine.normalform.NormalForm`. Raises InvalidCandidate if the network is too
    large, cannot be read, or cannot be compared with its normal form."""
    # Its libraries log what they skip.
    logging.getLogger().setLevel(logging.ERROR)
    subject = network_from(network)
    attempt = _normalised(subject, Path(out))
    toolchain = {package: metadata.version(package) for package in _PACKAGES}
    written = subject.model_path.name if attempt.steps else ""
    return {
        "path": written,
        "steps": attempt.steps,
        "skipped": attempt.skipped,
        "toolchain": toolchain,
    }


def _normalised(network: Network, out: Path) -> _Attempt:
    """The normal form, written into ``out`` if it is another graph than the published one."""
    refuse_large(network.model_path)
    published = onnx.load(network.model_path)
    attempt = _Attempt(published)
    for name in _STEPS:
        attempt.apply(name)
    if not attempt.steps:
        return attempt
    path = out / network.model_path.name
    reference = Published(network)

    def check(model: onnx.ModelProto) -> None:
        path.write_bytes(model.SerializeToString(deterministic=True))
        reference.compare(path)

    try:
        check(attempt.model)
    except Unequal:
        attempt = _Attempt(published)
        for name in _STEPS:
            attempt.apply(name, check)
        if attempt.steps:
            check(attempt.model)
        else:
            path.unlink(missing_ok=True)
    return attempt


def _content(model: onnx.ModelProto) -> tuple[Any, ...]:
    """What backends read of a model, to compare: not the names of nodes, the order of constants and
    values that no step changes."""
    nodes = []
    for node in model.graph.node:
        copy = onnx.NodeProto.FromString(node.SerializeToString(deterministic=True))
        copy.ClearField("name")
        copy.ClearField("doc_string")
        copy.ClearField("metadata_props")
        nodes.append(copy.SerializeToString(deterministic=True))
    values = sorted(value.name for value in model.graph.value_info)
    opsets = sorted((opset.domain, opset.version) for opset in model.opset_import)
    inputs = [value.name for value in model.graph.input]
    constants = sorted((tensor.name, count_lowest(tensor)) for tensor in model.graph.initializer)
    return nodes, values, opsets, inputs, constants, len(model.functions)


def _reason(error: Exception) -> str:
    if isinstance(error, Unequal | InvalidCandidate):
        return str(error)[:_LONGEST_REASON]
    return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
