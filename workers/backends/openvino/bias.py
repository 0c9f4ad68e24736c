"""Corrects the bias that reduced precision adds to the outputs of a network's last layers.

Rounding errors of weights do not average out, because their inputs are almost always positive
behind a ReLU: each channel has a mean error that hardly depends on the input. The measured mean is
subtracted in the bias, as in Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization
and Bias Correction", section 4.2. There every layer is corrected; here only the last ones are, for
the errors of all layers before them, in three compilations instead of one per layer.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch
from hpcfair.runtimes.openvino import compile_model, settings
from hpcfair.runtimes.quiet_openvino import ov
from workers.engine.calibration import fitting_inputs
from workers.engine.intermediates import intermediate
from workers.engine.ports import Array
from workers.engine.testset import EXTRA_MACS
from workers.engine.types import Network, Options

_CONVOLUTIONS = frozenset({"Convolution", "GroupConvolution", "ConvolutionBackpropData"})
_LAYERS = _CONVOLUTIONS | {"MatMul"}
_EXACT: Options = {"precision": "float32"}


@dataclass(frozen=True, slots=True)
class _Observation:
    """Outputs of one run by name, empty if they are not compared; for each layer the ``means`` of
    its channels, float64, and the ``counts`` of values per mean."""

    outputs: dict[str, Array]
    means: list[Array]
    counts: list[int]


def correct_biases(
    model: Any, exact: Any, network: Network, options: Options, artefact: str = "onnx"
) -> tuple[Any, dict[str, Any]]:
    """Correct the biases of a network's last layers; returns the network and provenance.

    ``model``, of reduced precision, runs with the runtime's ``options``; ``exact`` computes in
    float32, was read from ``artefact`` (an option) and has layers of the same names. The network is
    returned unchanged if it has no such layers, no usable inputs or too many MACs, or if the
    correction does not reduce the relative error on inputs it was not fitted to.
    """
    names = _last_layers(exact)
    if not names or (network.macs or 0) > EXTRA_MACS:
        return model, {}
    try:
        fitting = fitting_inputs(network)
        basis: dict[str, Any] = {"layers": names, "artefact": artefact}
        with intermediate(
            network,
            "openvino observations in float32",
            basis,
            lambda folder: _write(
                _observe(exact, names, _EXACT, fitting.fit, fitting.check), folder
            ),
        ) as folder:
            exact_runs = _read(folder)
        runs = _observe(model, names, options, fitting.fit, fitting.check)
    # Inputs of one of its types cannot be generated, or the network refuses them.
    except (ValueError, RuntimeError):
        return model, {}
    cut = len(fitting.fit)
    shifts = _mean_errors(exact_runs[:cut], runs[:cut])
    if not all(np.isfinite(shift).all() for shift in shifts):
        return model, {}
    corrected = _observe(_shifted(model, names, shifts), names, options, (), fitting.check)
    before = _relative_error(exact_runs[cut:], runs[cut:])
    after = _relative_error(exact_runs[cut:], corrected)
    if not after < before:
        return model, {}
    used = cut if fitting.is_evaluated else len(exact_runs)
    shifts = _mean_errors(exact_runs[:used], runs[:used])
    facts = {"source": fitting.source, "runs": used, "relative_l2": [before, after]}
    return _shifted(model, names, shifts), {"bias_correction": facts}


def _mean_errors(exact: Sequence[_Observation], runs: Sequence[_Observation]) -> list[Array]:
    """For each layer the mean of exact minus computed values of each channel, over all runs."""
    return [
        np.average(
            [
                np.subtract(expected.means[layer], run.means[layer])
                for expected, run in zip(exact, runs, strict=True)
            ],
            axis=0,
            weights=[expected.counts[layer] for expected in exact],
        )
        for layer in range(len(exact[0].means))
    ]


def _last_layers(model: Any) -> list[str]:
    """Names of layers with weights that no other layer follows."""
    preceding: set[str] = set()
    last = []
    nodes = model.get_ordered_ops()
    counts = Counter(node.friendly_name for node in nodes)
    for node in reversed(nodes):
        name, is_layer = node.friendly_name, node.get_type_name() in _LAYERS
        if (
            is_layer
            and name not in preceding
            and counts[name] == 1
            and _is_weights(node.input_value(1))
        ):
            last.append(name)
        if is_layer or name in preceding:
            preceding.update(
                port.get_source_output().get_node().friendly_name for port in node.inputs()
            )
    return last


def _is_weights(port: Any) -> bool:
    """Whether a value is independent of the network's inputs."""
    waiting = [port.get_node()]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node.get_type_name() in {"Parameter", *_LAYERS}:
            return False
        sources = [each.get_source_output().get_node() for each in node.inputs()]
        waiting += [each for each in sources if each.friendly_name not in seen]
        seen.update(each.friendly_name for each in sources)
    return True


def _observe(
    model: Any,
    names: Sequence[str],
    options: Options,
    fit: Sequence[dict[str, Array]],
    check: Sequence[dict[str, Array]],
) -> list[_Observation]:
    """Observe runs on ``fit``, without outputs, and then on ``check``."""
    copy = model.clone()
    outputs = [port.any_name for port in copy.outputs]
    nodes = {node.friendly_name: node for node in copy.get_ordered_ops()}
    # add_outputs() would leave out layers whose output is already one of the network's.
    results = [*copy.get_results(), *(ov.opset13.result(nodes[name]) for name in names)]
    watched = ov.Model(results, copy.get_sinks(), copy.get_parameters())
    request = compile_model(watched, settings(options)).create_infer_request()
    observations = []
    for number, each in enumerate((*fit, *check)):
        request.infer(each)
        values = [request.get_output_tensor(n).data.copy() for n in range(len(results))]
        layers = values[len(outputs) :]
        pairs = zip(names, layers, strict=True)
        means = [_channel_means(nodes[name], value) for name, value in pairs]
        counts = [layer.size // mean.size for layer, mean in zip(layers, means, strict=True)]
        compared = outputs if number >= len(fit) else ()
        named = dict(zip(compared, values, strict=False))
        observations.append(_Observation(named, means, counts))
    return observations


def _write(observations: Sequence[_Observation], folder: Path) -> None:
    """Write observations as files, to be read by :func:`_read`."""
    names = [list(each.outputs) for each in observations]
    counts = [each.counts for each in observations]
    (folder / "observations.json").write_text(json.dumps({"outputs": names, "counts": counts}))
    for number, each in enumerate(observations):
        np.savez(folder / f"{number}.npz", *each.means, *each.outputs.values())


def _read(folder: Path) -> list[_Observation]:
    """The observations of :func:`_write`, from files that a child of the same network wrote."""
    described = json.loads((folder / "observations.json").read_text())
    observations = []
    pairs = zip(described["outputs"], described["counts"], strict=True)
    for number, (names, counts) in enumerate(pairs):
        with np.load(folder / f"{number}.npz", allow_pickle=False) as archive:
            arrays = [archive[f"arr_{at}"] for at in range(len(archive.files))]
        outputs = dict(zip(names, arrays[len(counts) :], strict=True))
        observations.append(_Observation(outputs, arrays[: len(counts)], counts))
    return observations


def _channel_means(node: Any, value: Array) -> Array:
    """Mean of each channel, float64, of a shape that can be added to ``value``."""
    axis = 1 if node.get_type_name() in _CONVOLUTIONS else value.ndim - 1
    others = tuple(each for each in range(value.ndim) if each != axis)
    return np.asarray(value.mean(axis=others, keepdims=True, dtype=np.float64))


def _shifted(model: Any, names: Sequence[str], shifts: Sequence[Array]) -> Any:
    """A copy of the network with ``shifts`` added to the outputs of the layers ``names``."""
    shifted = model.clone()
    nodes = {node.friendly_name: node for node in shifted.get_ordered_ops()}
    for layer, values in zip(names, shifts, strict=True):
        node = nodes[layer]
        port = node.output(0)
        consumers, tensor_names = list(port.get_target_inputs()), set(port.names)
        sum_ = ov.opset13.add(node, ov.opset13.constant(values.astype(np.float32))).output(0)
        for consumer in consumers:
            consumer.replace_source_output(sum_)
        # The network's outputs are named after the tensors they return.
        port.set_names(set())
        sum_.set_names(tensor_names)
    shifted.validate_nodes_and_infer_types()
    return shifted


def _relative_error(exact: Sequence[_Observation], runs: Sequence[_Observation]) -> float:
    """Relative L2 error of the outputs; infinite if NaN or infinity differ."""
    comparison = OutputComparison()
    try:
        for expected, run in zip(exact, runs, strict=True):
            comparison.add(expected.outputs, run.outputs)
    except OutputMismatch:
        return np.inf
    return comparison.deviation().relative_l2
