"""Networks for links, from the topologies that inspections store."""

from collections.abc import Mapping, Sequence
from typing import Any

from registry.errors import NotFound
from registry.nodelinks.network import LinkNetwork, NetworkNode
from registry.selectors.analysis.topology import topology_document, topology_get
from registry.tables import Graph


def network_of(graph: Graph) -> LinkNetwork:
    """The nodes of a network's main graph, in the order of the file.

    Raises ``NotFound``: ``topology_not_found``, also if the topology lacks nodes.
    """
    document = topology_document(topology_get(graph))
    if "nodes" in document["omitted"]:
        raise NotFound(
            "topology_not_found",
            f"{graph.path} has {document['totals']['nodes']:,} nodes, too many to be matched.",
        )
    return network_in(document)


def network_in(document: Mapping[str, Any]) -> LinkNetwork:
    """The network of a document of schema ``hpcfair.topology/1``."""
    nodes, tensors = document["nodes"], document["tensors"]
    names: list[str] = tensors["name"]
    main = [index for index, body in enumerate(nodes["body"]) if body == 0]

    def named(numbers: Sequence[int]) -> tuple[str, ...]:
        return tuple(names[number] for number in numbers if number >= 0)

    return LinkNetwork(
        nodes=tuple(
            NetworkNode(
                name=nodes["name"][index],
                operator=document["operators"][nodes["operator"][index]].rpartition("::")[2],
                inputs=named(nodes["inputs"][index]),
                outputs=named(nodes["outputs"][index]),
                shape=_shape(tensors["shape"], nodes["outputs"][index]),
            )
            for index in main
        ),
        constants=frozenset(named(document["initializers"]["tensor"])),
        outputs=frozenset(named(document["outputs"])),
    )


def _shape(shapes: list[list[Any] | None], outputs: list[int]) -> tuple[int | None, ...] | None:
    shape = shapes[outputs[0]] if outputs and outputs[0] >= 0 else None
    if shape is None:
        return None
    return tuple(size if isinstance(size, int) else None for size in shape)
