"""The network of a job, as the engine's type."""

from pathlib import Path

from hpcfair.decoder import DecoderInputs
from hpcfair.tickets import GraphFacts, JobTicket
from workers.backends.space import ML_DOMAIN, is_ml
from workers.device.ports import Hub
from workers.engine.convolutions import convolution_sizes
from workers.engine.types import AlternativeFormat, Network, tensor_specs

_SAMPLES = "samples.npz"


def network_of(hub: Hub, graph: GraphFacts, folder: Path) -> Network:
    """The network of a job, copied into ``folder`` with all files that belong to it."""
    forms = [form["path"] for form in graph.forms]
    paths = {graph.path, *graph.external_data, *forms, _SAMPLES}
    hub.fetch([file for file in hub.ticket.files if file.path in paths], folder)
    return network_at(hub.ticket, graph, folder)


def formats_of(graph: GraphFacts) -> set[str]:
    """All formats in which the network was published."""
    return {graph.format, *(form["format"] for form in graph.forms)}


def kind_of(graph: GraphFacts) -> set[str]:
    """Facts of a network by which backends refuse it: its formats, whether it is a decoder, and
    whether it has operators of classical machine learning."""
    facts = {"decoder": is_decoder(graph), ML_DOMAIN: any(map(is_ml, graph.operators))}
    return formats_of(graph) | {name for name, holds in facts.items() if holds}


def is_decoder(graph: GraphFacts) -> bool:
    """Whether a network is a decoder with a cache."""
    return DecoderInputs.of(tensor_specs(graph.signature["inputs"])) is not None


def network_at(ticket: JobTicket, graph: GraphFacts, folder: Path) -> Network:
    """The network of a job with paths in ``folder``; the files need not exist."""
    digests = {file.path: file.sha256 for file in ticket.files}
    return Network(
        model_path=folder / graph.path,
        model_sha256=digests[graph.path],
        graph_hash=graph.graph_hash,
        architecture_class=graph.architecture_class,
        inputs=tensor_specs(graph.signature["inputs"]),
        outputs=tensor_specs(graph.signature["outputs"]),
        operators=graph.operators,
        parameters=graph.parameters,
        macs=graph.macs,
        embedding=tuple(graph.embedding),
        samples_path=folder / _SAMPLES if _SAMPLES in digests else None,
        integer_bounds=dict(graph.integer_bounds),
        convolutions=convolution_sizes(graph.convolutions),
        alternatives=tuple(
            AlternativeFormat(form["format"], folder / form["path"], digests[form["path"]])
            for form in graph.forms
        ),
    )
