"""Studies which layers of a network pay for lower precision: their errors and their times.

::

    float32 network ─▶ NNCF ─▶ all layers in int8
          │                          │
          ├── errors of single layers by ONNX Runtime (workers.backends.mixed.sensitivity)
          └── times of all layers under OpenVINO's counters, once per precision ──▶ layers.json

The builds of all limits share a study, and with those in int8 the network that NNCF quantised.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod, sqrt
from pathlib import Path
from typing import Any

from hpcfair.runtimes.openvino import compile_model, read_model, reshaped, settings
from workers.backends.mixed.fitting import LEAST_ERROR
from workers.backends.mixed.plan import StudiedLayer
from workers.backends.mixed.sensitivity import Sensitivity, sensitivities
from workers.backends.openvino.bias import expected_error
from workers.backends.openvino.convert import executed, save
from workers.backends.openvino.layers import (
    AFFINE,
    HEAVY,
    bypass,
    node_name,
    quantised_layers,
)
from workers.backends.openvino.profile import least_us
from workers.backends.openvino.quantised import quantised
from workers.backends.openvino.rounding import round_layers
from workers.backends.openvino.source import SourceNetwork
from workers.engine.calibration import fitting_inputs
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.random_inputs import random_inputs
from workers.engine.types import Network, Options

_QUANTISED, _ROUNDED = "quantised.xml", "rounded.xml"
_LAYERS, _PROVENANCE = "layers.json", "study.json"
#: Operators that average.
_MEANS = frozenset({"AvgPool", "ReduceMean"})
#: Runs of a network; the least time counts.
_RUNS = 12
#: Runs whose inputs weights are rounded for.
_ROUNDING_RUNS = 8
_SEED = 20_260_101
#: Seconds by which an element of a layer's input is converted between a precision and less exact
#: ones. Two processors (AMD EPYC) take 0.2 to 0.7 ns in ResNet-50 from and to float32, and 0.1 ns
#: between bfloat16 and int8, in ShuffleNet, too.
_CONVERSION_S = {"float32": 0.4e-9, "bfloat16": 0.1e-9, "float16": 0.1e-9}
#: Unsigned activations, and no smoothing, which would change the weights of all layers.
_QUANTISATION: Options = {"preset": "mixed", "smoothing": False}


@dataclass(frozen=True, slots=True)
class StudyProvenance:
    """Which inputs a study used, and for what.

    Attributes:
        calibration: Entry of the same name in the provenance of builds in int8.
        source: ``samples`` or ``random`` inputs, for which weights were rounded.
        runs: Number of runs with these inputs.
        rounded: Names of the layers whose weights were rounded.
    """

    calibration: dict[str, Any]
    source: str
    runs: int
    rounded: Sequence[str]


@dataclass(frozen=True, slots=True)
class StudiedNetwork:
    """A network whose layers were studied.

    Attributes:
        quantised: All layers are in int8.
        rounded: In float32, with weights that are rounded to the precision of layers that are not
            in int8.
    """

    layers: list[StudiedLayer]
    quantised: Any
    rounded: Any
    provenance: StudyProvenance


def study(exact: Any, source: SourceNetwork, out: Path) -> None:
    """Write the study of a network, read as ``exact``, into the empty folder ``out``.

    Its precisions are float32, that of the source's runtime options, and int8. Raises
    InvalidCandidate if no layer can be quantised or compared.
    """
    network, options = source.network, source.runtime_options
    integer, facts = quantised(exact, network, {**_QUANTISATION, "artefact": source.artefact})
    _keep_means(integer)
    names = [node_name(node.friendly_name) for node in quantised_layers(integer)]
    fitting = fitting_inputs(network)
    sensitive = sensitivities(source.path, names, network.macs or 0, fitting.fit[0])
    if not sensitive:
        raise InvalidCandidate("no layer of this network can be studied")
    runs = fitting.fit[:_ROUNDING_RUNS]
    rounded, fitted = round_layers(exact, integer, str(options["precision"]), runs)
    models = {"float32": exact, str(options["precision"]): rounded, "int8": integer}
    scales = _error_scales(models, source, sensitive)
    plain = {**options, "precision": "float32"}
    seconds = {
        precision: layer_seconds(
            model, network, plain if precision == "float32" else options, names
        )
        for precision, model in models.items()
    }
    elements = _input_elements(exact, network, names)
    layers = [
        StudiedLayer(
            each.nodes,
            {precision: scale * each.error for precision, scale in scales.items()},
            {p: sum(seconds[p].get(name, 0.0) for name in each.nodes) for p in scales},
            {p: s * elements.get(each.nodes[0], 0) for p, s in _CONVERSION_S.items()},
        )
        for each in sensitive
    ]
    save(integer, out / _QUANTISED)
    save(rounded, out / _ROUNDED)
    (out / _LAYERS).write_text(json.dumps([asdict(layer) for layer in layers]))
    provenance = StudyProvenance(facts["calibration"], fitting.source, len(runs), fitted)
    (out / _PROVENANCE).write_text(json.dumps(asdict(provenance)))


def _error_scales(
    models: Mapping[str, Any], source: SourceNetwork, sensitive: Sequence[Sensitivity]
) -> dict[str, float]:
    """Error of a layer in each precision, relative to its sensitivity.

    The ratio of the errors of two precisions is taken to be the same for all layers: that of whole
    networks, which are run.
    """
    predicted = max(sqrt(sum(each.error**2 for each in sensitive)), LEAST_ERROR)
    scales = {}
    for precision, model in models.items():
        error = 0.0 if precision == "float32" else error_of(model, models["float32"], source)
        scales[precision] = error / predicted
    return scales


def _keep_means(model: Any) -> None:
    """Remove the rounding before means over whole maps.

    OpenVINO would round the mean of an int8 map to an integer again (SqueezeNet: an error of 10 %
    in place of 2 %).
    """
    for node in model.get_ordered_ops():
        sizes = list(node.output(0).get_partial_shape())[2:] if node.get_output_size() else []
        is_one = all(size.is_static and size.get_length() == 1 for size in sizes)
        if node.get_type_name() in _MEANS and is_one:
            bypass(node.input(0))
    model.validate_nodes_and_infer_types()


def error_of(model: Any, exact: Any, source: SourceNetwork) -> float:
    """The expected error of a build. Raises InvalidCandidate if it cannot be estimated."""
    network, options = source.network, source.runtime_options
    error = expected_error(model, exact, network, options, source.artefact)
    if error is None:
        raise InvalidCandidate("the outputs of this network cannot be compared")
    return error


def read_study(folder: Path) -> StudiedNetwork:
    """The study of :func:`study`."""
    documents = json.loads((folder / _LAYERS).read_text())
    layers = [StudiedLayer(**{**each, "names": tuple(each["names"])}) for each in documents]
    provenance = StudyProvenance(**json.loads((folder / _PROVENANCE).read_text()))
    integer, rounded = (read_model(folder / name) for name in (_QUANTISED, _ROUNDED))
    return StudiedNetwork(layers, integer, rounded, provenance)


def layer_seconds(
    model: Any, network: Network, options: Options, names: Collection[str]
) -> dict[str, float]:
    """Time of each layer, with the operators that follow it up to the next one."""
    fixed, arrays = _fixed(model, network)
    layers = _layers_of_operators(model, names)
    timed = _timed(fixed, arrays, options, layers)
    return {name: timed.get(name, 0.0) for name in names}


def _fixed(model: Any, network: Network) -> tuple[Any, list[Array]]:
    """The network for the sizes by which it is timed, and its inputs."""
    inputs = random_inputs(network, _SEED)
    arrays = [inputs[port.any_name] for port in model.inputs]
    shapes = [array.shape for array in arrays] if model.is_dynamic() else None
    return reshaped(model, shapes), arrays


def _input_elements(model: Any, network: Network, names: Collection[str]) -> dict[str, int]:
    """Number of elements of each layer's input, where its size is known."""
    fixed, _ = _fixed(model, network)
    shapes = {
        node_name(node.friendly_name): node.input(0).get_partial_shape()
        for node in fixed.get_ordered_ops()
        if node.get_type_name() in HEAVY and node_name(node.friendly_name) in names
    }
    return {name: prod(shape.to_shape()) for name, shape in shapes.items() if shape.is_static}


def _layers_of_operators(model: Any, names: Collection[str]) -> dict[str, str]:
    """Layers by the names of the operators that may compute them: of the product, and of the
    factors and summands behind it. OpenVINO names a product in floating point after the last
    operator that it contains, such as the sum with the bias."""
    layers = {name: name for name in names}
    for node in model.get_ordered_ops():
        layer = node_name(node.friendly_name)
        if node.get_type_name() not in HEAVY or layer not in names:
            continue
        last = node
        while len(targets := last.output(0).get_target_inputs()) == 1:
            last = next(iter(targets)).get_node()
            if last.get_type_name() not in AFFINE:
                break
            layers.setdefault(node_name(last.friendly_name), layer)
    return layers


def _timed(
    model: Any, arrays: list[Array], options: Options, layers: Mapping[str, str]
) -> dict[str, float]:
    compiled = compile_model(model, settings(options) | {"PERF_COUNT": True})
    counted = least_us(compiled.create_infer_request(), arrays, _RUNS)
    seconds: dict[str, float] = {}
    layer = None
    for operator in executed(compiled):
        own = (node_name(name) for name in operator.originals)
        layer = next((layers[name] for name in own if name in layers), layer)
        if layer is not None:
            seconds[layer] = seconds.get(layer, 0.0) + counted.get(operator.name, 0) * 1e-6
    return seconds
