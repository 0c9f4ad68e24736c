"""Corrects the bias that reduced precision adds to the outputs of a network's last layers.

Rounding errors of weights do not average out, because their inputs are almost always positive
behind a ReLU: each channel has a mean error that hardly depends on the input. The measured mean is
subtracted in the bias, as in Nagel et al. 2019, "Data-Free Quantization Through Weight Equalization
and Bias Correction", section 4.2. There every layer is corrected; here only the last ones are, for
the errors of all layers before them, in five compilations instead of one per layer.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch
from hpcfair.runtimes.quiet_openvino import ov
from workers.backends.openvino.float32 import insert_behind, layer_output
from workers.backends.openvino.observation import (
    CONVOLUTIONS,
    Observation,
    observe,
    read_observations,
    write_observations,
)
from workers.engine.calibration import Fitting, fitting_inputs
from workers.engine.intermediates import intermediate
from workers.engine.ports import Array
from workers.engine.testset import EXTRA_MACS
from workers.engine.types import Network, Options

_LAYERS = CONVOLUTIONS | {"MatMul"}
_EXACT: Options = {"precision": "float32"}


def correct_biases(
    model: Any, exact: Any, network: Network, options: Options, artefact: str = "onnx"
) -> tuple[Any, dict[str, Any]]:
    """Correct the biases of a network's last layers; returns the network and provenance.

    ``model``, of reduced precision, runs with the runtime's ``options``; ``exact`` computes in
    float32, was read from ``artefact`` (an option) and has layers of the same names. The network is
    returned unchanged if it has no such layers, no usable inputs or too many MACs, or if the
    correction does not reduce the relative error on inputs it was not fitted to.
    """
    if not can_correct(exact, network):
        return model, {}
    names = _last_layers(exact)
    try:
        fitting = fitting_inputs(network)
        exact_runs = _exact_runs(exact, names, network, artefact, fitting)
        runs = observe(model, names, options, fitting.fit, fitting.check)
    # Inputs of one of its types cannot be generated, or the network refuses them.
    except (ValueError, RuntimeError):
        return model, {}
    cut = len(fitting.fit)
    shifts = _mean_errors(exact_runs[:cut], runs[:cut])
    if not all(np.isfinite(shift).all() for shift in shifts):
        return model, {}
    corrected = observe(_shifted(model, names, shifts), (), options, (), fitting.check)
    before = _relative_error(exact_runs[cut:], runs[cut:])
    after = _relative_error(exact_runs[cut:], corrected)
    if not after < before:
        return model, {}
    used = cut if fitting.is_evaluated else len(exact_runs)
    shifts = _mean_errors(exact_runs[:used], runs[:used])
    facts = {"source": fitting.source, "runs": used, "relative_l2": [before, after]}
    return _shifted(model, names, shifts), {"bias_correction": facts}


def can_correct(exact: Any, network: Network) -> bool:
    """Whether a network has last layers with weights, and few enough MACs for the runs."""
    return bool(_last_layers(exact)) and (network.macs or 0) <= EXTRA_MACS


def expected_error(
    model: Any, exact: Any, network: Network, options: Options, artefact: str = "onnx"
) -> float | None:
    """The relative error of the outputs after :func:`correct_biases`, with the same arguments, on
    inputs that it was not fitted to; ``None`` if it cannot be estimated.

    It is estimated from all inputs, those of the fit included: each row is compared as if the mean
    error of the others were corrected. That the correction is made in the last layers makes little
    difference. It adds one constant per channel, not per position: outputs with positions, such as
    tokens or pixels, are compared as they are if they are closer without it.
    """
    if not can_correct(exact, network):
        return None
    names = _last_layers(exact)
    try:
        fitting = fitting_inputs(network)
        expected = _exact_runs(exact, names, network, artefact, fitting)
        runs = observe(model, (), options, (), (*fitting.fit, *fitting.check))
        errors = [
            _output_error([e.outputs[name] for e in expected], [r.outputs[name] for r in runs])
            for name, output in expected[0].outputs.items()
            if output.dtype.kind == "f"
        ]
    # As in correct_biases; also outputs without rows.
    except (ValueError, RuntimeError):
        return None
    return max(errors) if errors and np.isfinite(errors).all() else None


def _exact_runs(
    exact: Any, names: Sequence[str], network: Network, artefact: str, fitting: Fitting
) -> list[Observation]:
    """Observations of the network in float32, which builds share."""
    cases = (*fitting.fit, *fitting.check)
    basis: dict[str, Any] = {"layers": list(names), "artefact": artefact}
    with intermediate(
        network,
        "openvino observations in float32",
        basis,
        lambda folder: write_observations(observe(exact, names, _EXACT, (), cases), folder),
    ) as folder:
        return read_observations(folder)


def _output_error(exact: Sequence[Array], outputs: Sequence[Array]) -> float:
    """Relative L2 error of one output over the rows of all runs, after subtracting from each row
    the mean error of the others.

    Where each row has positions (three axes or more), that mean is mostly noise if rows are few: it
    is subtracted only if that reduces the error.
    """
    expected = np.concatenate(exact).astype(np.float64)
    error = np.concatenate(outputs).astype(np.float64) - expected
    rows = len(error)
    whole = remaining = float(np.linalg.norm(error))
    if rows > 1:
        remaining = float(np.linalg.norm(error - error.mean(axis=0))) * rows / (rows - 1)
    if error.ndim > 2:
        remaining = min(whole, remaining)
    norm = float(np.linalg.norm(expected))
    return remaining / norm if norm else np.inf


def _mean_errors(exact: Sequence[Observation], runs: Sequence[Observation]) -> list[Array]:
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


def _shifted(model: Any, names: Sequence[str], shifts: Sequence[Array]) -> Any:
    """A copy of the network with ``shifts`` added to the outputs of the layers ``names``."""
    shifted = model.clone()
    nodes = {node.friendly_name: node for node in shifted.get_ordered_ops()}
    for layer, values in zip(names, shifts, strict=True):
        port = layer_output(nodes[layer])
        insert_behind(port, ov.opset13.add(port, ov.opset13.constant(values.astype(np.float32))))
    shifted.validate_nodes_and_infer_types()
    return shifted


def _relative_error(exact: Sequence[Observation], runs: Sequence[Observation]) -> float:
    """Relative L2 error of the outputs; infinite if NaN or infinity differ."""
    comparison = OutputComparison()
    try:
        for expected, run in zip(exact, runs, strict=True):
            comparison.add(expected.outputs, run.outputs)
    except OutputMismatch:
        return np.inf
    return comparison.deviation().relative_l2
