"""Builds a network whose layers differ in precision, for a limit on the error of its outputs."""

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hpcfair.runtimes.openvino import read_model
from workers.backends.mixed.fitting import fit
from workers.backends.mixed.plan import StudiedLayer
from workers.backends.openvino.float32 import save_in_float32
from workers.backends.openvino.layers import (
    HEAVY,
    ROUNDING,
    bypass,
    make_weights_constant,
    named_layers,
    node_name,
    quantised_layers,
    replace_weights,
    weights,
)
from workers.backends.openvino.source import SourceNetwork
from workers.backends.openvino.study import (
    StudiedNetwork,
    StudyProvenance,
    error_of,
    read_study,
    study,
)
from workers.engine.errors import InvalidCandidate
from workers.engine.intermediates import intermediate
from workers.engine.trials import MIXED_PRECISION


@dataclass(frozen=True, slots=True)
class MixedNetwork:
    """A network whose layers differ in precision, the least exact precision, and provenance."""

    model: Any
    precision: str
    provenance: dict[str, Any]


def fastest_within(limit: float, exact: Any, source: SourceNetwork) -> MixedNetwork:
    """The fastest network whose error keeps to a limit; ``exact`` computes in float32. Raises
    InvalidCandidate if no layer gains from a lower precision."""
    facts = {"artefact": source.artefact, "runtime_options": source.runtime_options}
    with (
        intermediate(
            source.network,
            "openvino study of layers",
            facts,
            lambda folder: study(exact, source, folder),
        ) as folder,
        TemporaryDirectory() as scratch,
    ):
        studied = read_study(folder)
        layers = studied.layers
        numbers = count()

        def build(plan: Sequence[str]) -> tuple[Any, float]:
            model = mixed(studied, exact, plan, Path(scratch) / f"{next(numbers)}.xml")
            return model, error_of(model, exact, source)

        fitted = fit(limit, layers, build)
    if fitted is None or set(fitted.plan) == {"float32"}:
        raise InvalidCandidate(
            f"no layer gains from a lower precision within an error of {limit:g}"
        )
    lowest = next(each for each in reversed(list(layers[0].errors)) if each in fitted.plan)
    rows = _rows(layers, fitted.plan)
    provenance = {
        MIXED_PRECISION: {"limit": limit, "error": fitted.error, "layers": rows},
        **_input_provenance(studied.provenance, layers, fitted.plan),
        # Another measurement of the layers may lead to another plan.
        "reproducible": False,
    }
    return MixedNetwork(fitted.network, lowest, provenance)


def mixed(studied: StudiedNetwork, exact: Any, plan: Sequence[str], path: Path) -> Any:
    """A network whose layers have the precisions of ``plan``; it is written to ``path``. ``exact``
    is the studied network, in float32."""
    precisions = {
        name: precision
        for layer, precision in zip(studied.layers, plan, strict=True)
        for name in layer.names
    }
    int8_layers = {name for name, precision in precisions.items() if precision == "int8"}
    model = studied.quantised.clone()
    _drop_rounding(model, int8_layers)
    plain = exact.clone()
    make_weights_constant(plain)
    float32_layers = {name for name, precision in precisions.items() if precision == "float32"}
    _take_weights(model, plain, float32_layers)
    _take_weights(model, studied.rounded, named_layers(model).keys() - float32_layers - int8_layers)
    model.validate_nodes_and_infer_types()
    save_in_float32(model, _float32_operators(model, precisions), path)
    return read_model(path)


def _drop_rounding(model: Any, int8_layers: Collection[str]) -> None:
    """Remove the rounding of inputs of all other layers, and before other operators where no layer
    in int8 follows."""
    for node in quantised_layers(model):
        if node_name(node.friendly_name) not in int8_layers:
            for port in node.inputs():
                bypass(port)
    for node in model.get_ordered_ops():
        if node.get_type_name() == ROUNDING and not _leads_to(node, int8_layers):
            for port in list(node.output(0).get_target_inputs()):
                bypass(port)


def _take_weights(model: Any, source: Any, names: Set[str]) -> None:
    """Give layers the weights that they have in ``source``."""
    layers, sources = named_layers(model), named_layers(source)
    for name in names & sources.keys():
        if (constant := weights(sources[name])) is not None and weights(layers[name]) is not None:
            replace_weights(layers[name], constant.data)


def _leads_to(node: Any, int8_layers: Collection[str]) -> bool:
    """Whether one of the next layers behind an operator is in ``int8_layers``."""
    waiting, seen = [node], set()
    while waiting:
        for port in waiting.pop().outputs():
            for target in port.get_target_inputs():
                after = target.get_node()
                name = after.friendly_name
                if after.get_type_name() in HEAVY:
                    if node_name(name) in int8_layers:
                        return True
                elif name not in seen:
                    seen.add(name)
                    waiting.append(after)
    return False


def _float32_operators(model: Any, precisions: dict[str, str]) -> set[str]:
    """Names of the operators that compute in float32: the layers of that precision and what follows
    them up to the next layer, and what precedes all layers, such as embeddings. Products that are
    no layers, such as those of attention, are operators like others."""
    before: set[str] = set()
    float32: set[str] = set()
    operators = [op for op in model.get_ordered_ops() if op.get_type_name() != "Constant"]
    for node in operators:
        name = node.friendly_name
        nodes = (port.get_source_output().get_node() for port in node.inputs())
        sources = {each.friendly_name for each in nodes if each.get_type_name() != "Constant"}
        precision = precisions.get(node_name(name)) if node.get_type_name() in HEAVY else None
        if precision is None and sources <= before:
            before.add(name)
        elif precision == "float32" or (precision is None and not float32.isdisjoint(sources)):
            float32.add(name)
    return float32 | before


def _input_provenance(
    studied: StudyProvenance, layers: Sequence[StudiedLayer], plan: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Provenance entries for the inputs that the layers of a plan were calibrated and rounded for;
    none for layers in float32."""
    reduced = {
        name
        for layer, precision in zip(layers, plan, strict=True)
        for name in layer.names
        if precision != "float32"
    }
    provenance = {}
    if "int8" in plan:
        provenance["calibration"] = studied.calibration
    if count := len(reduced.intersection(studied.rounded)):
        facts = {"source": studied.source, "runs": studied.runs, "layers": count}
        provenance["weight_rounding"] = facts
    return provenance


def _rows(layers: Sequence[StudiedLayer], plan: Sequence[str]) -> list[dict[str, Any]]:
    """Of each layer its precision, the error that it costs and the time that it saves."""
    return [
        {
            "nodes": list(layer.names),
            "precision": precision,
            "error": layer.errors[precision],
            "saved_s": layer.seconds["float32"] - layer.seconds[precision],
        }
        for layer, precision in zip(layers, plan, strict=True)
    ]
