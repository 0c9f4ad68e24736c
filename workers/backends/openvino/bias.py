"""Takes out of a network's last layers what a lower precision adds to all of their outputs alike.

Rounded weights do not err to both sides: what they multiply is positive almost everywhere behind a
ReLU, so each channel strays one way, whatever the input. The mean of that, as measured, goes into
the bias (Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization and Bias
Correction", section 4.2, who correct every layer). Here the last layers answer for all before them:
that takes three compilations, where layer after layer takes one for each.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch
from hpcfair.runtimes.openvino import compile_model, settings
from hpcfair.runtimes.quiet_openvino import ov
from workers.engine.calibration import fitting_inputs
from workers.engine.ports import Array
from workers.engine.samples import EXTRA_MACS
from workers.engine.types import Network, Options

_CONVOLUTIONS = frozenset({"Convolution", "GroupConvolution", "ConvolutionBackpropData"})
_LAYERS = _CONVOLUTIONS | {"MatMul"}
_EXACT: Options = {"precision": "float32"}


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one run gave.

    Attributes:
        outputs: Of the network, by name, where they are compared.
        means: For each layer, of each channel, float64.
        counts: For each layer, of how many values a mean is one.
    """

    outputs: dict[str, Array]
    means: list[Array]
    counts: list[int]


def correct_biases(
    model: Any, exact: Any, network: Network, options: Options
) -> tuple[Any, dict[str, Any]]:
    """The network with its last biases corrected and the provenance of that.

    It stays as it is where there is nothing to correct, no input to measure on or no time for it,
    or where the correction does not bring it nearer on inputs that it was not measured on.

    Args:
        model: The network that computes in less than float32 with the runtime's ``options``.
        exact: The network that it shall agree with, computed in float32; layers are named alike.
    """
    names = _last_layers(exact)
    if not names or (network.macs or 0) > EXTRA_MACS:
        return model, {}
    try:
        fitting = fitting_inputs(network)
        wanted = _observe(exact, names, _EXACT, fitting.fit, fitting.check)
        found = _observe(model, names, options, fitting.fit, fitting.check)
    # Nothing can be made up for one of its types, or it refuses what was made up.
    except (ValueError, RuntimeError):
        return model, {}
    cut = len(fitting.fit)
    shifts = _shifts(wanted[:cut], found[:cut])
    if not all(np.isfinite(shift).all() for shift in shifts):
        return model, {}
    left = _observe(_shifted(model, names, shifts), names, options, (), fitting.check)
    before, after = _deviation(wanted[cut:], found[cut:]), _deviation(wanted[cut:], left)
    if not after < before:
        return model, {}
    used = cut if fitting.is_evaluated else len(wanted)
    shifts = _shifts(wanted[:used], found[:used])
    facts = {"source": fitting.source, "runs": used, "relative_l2": [before, after]}
    return _shifted(model, names, shifts), {"bias_correction": facts}


def _shifts(wanted: Sequence[_Seen], found: Sequence[_Seen]) -> list[Array]:
    """What each layer's channels lack, on average over the runs."""
    return [
        np.average(
            [
                np.subtract(want.means[at], have.means[at])
                for want, have in zip(wanted, found, strict=True)
            ],
            axis=0,
            weights=[want.counts[at] for want in wanted],
        )
        for at in range(len(wanted[0].means))
    ]


def _last_layers(model: Any) -> list[str]:
    """Names of layers with weights that no other layer comes behind."""
    before: set[str] = set()
    last = []
    nodes = model.get_ordered_ops()
    known = Counter(node.friendly_name for node in nodes)
    for node in reversed(nodes):
        name, is_layer = node.friendly_name, node.get_type_name() in _LAYERS
        if (
            is_layer
            and name not in before
            and known[name] == 1
            and _is_weights(node.input_value(1))
        ):
            last.append(name)
        if is_layer or name in before:
            before.update(
                port.get_source_output().get_node().friendly_name for port in node.inputs()
            )
    return last


def _is_weights(port: Any) -> bool:
    """Whether nothing that a run is fed with comes in here."""
    open_nodes = [port.get_node()]
    seen: set[str] = set()
    while open_nodes:
        node = open_nodes.pop()
        if node.get_type_name() in {"Parameter", *_LAYERS}:
            return False
        sources = [each.get_source_output().get_node() for each in node.inputs()]
        open_nodes += [each for each in sources if each.friendly_name not in seen]
        seen.update(each.friendly_name for each in sources)
    return True


def _observe(
    model: Any,
    names: Sequence[str],
    options: Options,
    fit: Sequence[dict[str, Array]],
    check: Sequence[dict[str, Array]],
) -> list[_Seen]:
    """What runs on ``fit`` and then on ``check`` give; of the former no outputs are kept."""
    copy = model.clone()
    outputs = [port.any_name for port in copy.outputs]
    nodes = {node.friendly_name: node for node in copy.get_ordered_ops()}
    # Not added as outputs: a layer whose output the network gives already would be left out.
    results = [*copy.get_results(), *(ov.opset13.result(nodes[name]) for name in names)]
    watched = ov.Model(results, copy.get_sinks(), copy.get_parameters())
    request = compile_model(watched, settings(options)).create_infer_request()
    seen = []
    for number, each in enumerate((*fit, *check)):
        request.infer(each)
        values = [request.get_output_tensor(at).data.copy() for at in range(len(results))]
        layers = values[len(outputs) :]
        pairs = zip(names, layers, strict=True)
        means = [_channel_means(nodes[name], value) for name, value in pairs]
        counts = [layer.size // mean.size for layer, mean in zip(layers, means, strict=True)]
        kept = outputs if number >= len(fit) else ()
        seen.append(_Seen(dict(zip(kept, values, strict=False)), means, counts))
    return seen


def _channel_means(node: Any, value: Array) -> Array:
    """float64, of a shape that can be added to ``value``."""
    axis = 1 if node.get_type_name() in _CONVOLUTIONS else value.ndim - 1
    others = tuple(each for each in range(value.ndim) if each != axis)
    return np.asarray(value.mean(axis=others, keepdims=True, dtype=np.float64))


def _shifted(model: Any, names: Sequence[str], shifts: Sequence[Array]) -> Any:
    """The network with ``shifts`` added to what the layers ``names`` give."""
    shifted = model.clone()
    nodes = {node.friendly_name: node for node in shifted.get_ordered_ops()}
    for layer, values in zip(names, shifts, strict=True):
        node = nodes[layer]
        port = node.output(0)
        takers, known = list(port.get_target_inputs()), set(port.names)
        moved = ov.opset13.add(node, ov.opset13.constant(values.astype(np.float32))).output(0)
        for taker in takers:
            taker.replace_source_output(moved)
        # An output of the network is known by the name of what it gives.
        port.set_names(set())
        moved.set_names(known)
    shifted.validate_nodes_and_infer_types()
    return shifted


def _deviation(wanted: Sequence[_Seen], found: Sequence[_Seen]) -> float:
    """``relative_l2``; infinite where one is NaN or infinite and the other is not."""
    comparison = OutputComparison()
    try:
        for one, other in zip(wanted, found, strict=True):
            comparison.add(one.outputs, other.outputs)
    except OutputMismatch:
        return np.inf
    return comparison.deviation().relative_l2
