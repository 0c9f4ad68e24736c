"""Builds a network whose layers differ in precision, for a limit on the error of its outputs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hpcfair.runtimes.openvino import read_model
from workers.backends.mixed.plan import StudiedLayer, choose, predicted_error, predicted_seconds
from workers.backends.openvino.float32 import save_in_float32
from workers.backends.openvino.source import SourceNetwork
from workers.backends.openvino.study import (
    HEAVY,
    LEAST_ERROR,
    ROUNDING,
    bypass,
    error_of,
    node_name,
    quantised_layers,
    read_study,
    study,
)
from workers.engine.errors import InvalidCandidate
from workers.engine.intermediates import intermediate
from workers.engine.trials import MIXED_PRECISION

#: Share of the limit that a build may use: its error on other inputs is a little different.
_MARGIN = 0.9
#: Plans that are built and checked; each corrects the budget by the observed error.
_ATTEMPTS = 4
#: Share of the permitted error from which a plan is good enough.
_USED = 0.9


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
        layers, quantised = read_study(folder)
        plan, error, model = _search(limit, exact, source, layers, quantised, Path(scratch))
    lowest = next(each for each in reversed(list(layers[0].errors)) if each in plan)
    provenance = {
        MIXED_PRECISION: {"limit": limit, "error": error, "layers": _rows(layers, plan)},
        # Another measurement of the layers may lead to another plan.
        "reproducible": False,
    }
    return MixedNetwork(model, lowest, provenance)


def _search(
    limit: float,
    exact: Any,
    source: SourceNetwork,
    layers: Sequence[StudiedLayer],
    quantised: Any,
    scratch: Path,
) -> tuple[list[str], float, Any]:
    """The fastest plan, the error of its network, and the network."""
    most = budget = _MARGIN * limit
    low, high = 0.0, inf
    best: tuple[list[str], float, Any] | None = None
    plans: list[list[str]] = []
    while len(plans) < _ATTEMPTS and (plan := choose(layers, budget)) not in plans:
        plans.append(plan)
        model = mixed(quantised, layers, plan, scratch / f"{len(plans)}.xml")
        error = error_of(model, exact, source)
        seconds = predicted_seconds(layers, plan)
        if error <= most and (best is None or seconds < predicted_seconds(layers, best[0])):
            best = plan, error, model
        if _USED * most <= error <= most:
            break
        low, high = (budget, high) if error <= most else (low, budget)
        # Predicted errors are off by a factor that differs little between similar plans.
        budget = most * predicted_error(layers, plan) / max(error, LEAST_ERROR)
        if not low < budget < high:
            budget = sqrt(low * high) if low and high < inf else low * 2 or high / 2
    if best is None or set(best[0]) == {"float32"}:
        raise InvalidCandidate(
            f"no layer gains from a lower precision within an error of {limit:g}"
        )
    return best


def mixed(quantised: Any, layers: Sequence[StudiedLayer], plan: Sequence[str], path: Path) -> Any:
    """A network whose layers have the precisions of ``plan``; it is written to ``path``."""
    precisions = {
        name: precision
        for layer, precision in zip(layers, plan, strict=True)
        for name in layer.names
    }
    int8_layers = {name for name, precision in precisions.items() if precision == "int8"}
    model = quantised.clone()
    _drop_rounding(model, int8_layers)
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
