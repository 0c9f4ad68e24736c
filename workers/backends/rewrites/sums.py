"""Sums of two written as additions, which optimisers and quantisers know to fuse."""

from workers.backends.rewrites.network import Network


def write_sums_as_additions(network: Network) -> int:
    """Turn every ``Sum`` of two values into an ``Add``; returns how many."""
    found = [node for node in network.nodes if node.op_type == "Sum" and len(node.input) == 2]
    for node in found:
        node.op_type = "Add"
    return len(found)
