"""The network that a job is about, as the engine wants it."""

from pathlib import Path
from typing import Any

from registry.tickets import GraphFacts, JobTicket
from workers.engine.types import AlternativeFormat, Network, TensorSpec
from workers.jobs.workspace import fetch

_SAMPLES = "samples.npz"


def network_of(ticket: JobTicket, graph: GraphFacts, folder: Path) -> Network:
    """Copy the network a job is about into ``folder``, with all that belongs to it."""
    forms = [form["path"] for form in graph.forms]
    wanted = {graph.path, *graph.external_data, *forms, _SAMPLES}
    fetch([file for file in ticket.files if file.path in wanted], folder)
    return network_at(ticket, graph, folder)


def formats_of(graph: GraphFacts) -> set[str]:
    """All formats that the network was published in."""
    return {graph.format, *(form["format"] for form in graph.forms)}


def network_at(ticket: JobTicket, graph: GraphFacts, folder: Path) -> Network:
    """The network a job is about, whose files lie in ``folder``, or would."""
    digests = {file.path: file.sha256 for file in ticket.files}
    return Network(
        model_path=folder / graph.path,
        model_sha256=digests[graph.path],
        graph_hash=graph.graph_hash,
        architecture_class=graph.architecture_class,
        inputs=_specs(graph.signature["inputs"]),
        outputs=_specs(graph.signature["outputs"]),
        operators=graph.operators,
        parameters=graph.parameters,
        macs=graph.macs,
        embedding=tuple(graph.embedding),
        samples_path=folder / _SAMPLES if _SAMPLES in digests else None,
        integer_bounds=dict(graph.integer_bounds),
        alternatives=tuple(
            AlternativeFormat(form["format"], folder / form["path"], digests[form["path"]])
            for form in graph.forms
        ),
    )


def _specs(tensors: list[dict[str, Any]]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(tensor["name"], tensor["dtype"], tuple(tensor["shape"])) for tensor in tensors
    )
