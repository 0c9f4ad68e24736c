"""Python that fetches, loads and runs a very version, for its record."""

import json

from registry.fair.addresses import RepositoryAddress
from registry.fair.parts import Network, TensorDescription


def snippet_of(place: RepositoryAddress, oid: str, network: Network | None) -> str:
    """Lines that work wherever their packages are installed, whatever else is set up there."""
    if place.kind == "model" and network is not None:
        return _run(place, oid, network)
    options = [f'"{place.repository}"', f'revision="{oid}"', f'endpoint="{place.hub}"']
    if place.kind == "dataset":
        options.insert(1, 'repo_type="dataset"')
    return (
        "from huggingface_hub import snapshot_download\n\n"
        f"folder = snapshot_download(\n    {', '.join(options)}\n)\n"
    )


def _run(place: RepositoryAddress, oid: str, network: Network) -> str:
    inputs = "".join(f"    {json.dumps(one.name)}: {_zeros(one)},\n" for one in network.inputs)
    return (
        "import hpcfair\n"
        "import numpy as np\n\n"
        f'hub = hpcfair.Client("{place.hub}")\n'
        f'model = hub.load("{place.repository}", revision="{oid}")\n'
        f"outputs = model({{\n{inputs}}})\n"
    )


def _zeros(tensor: TensorDescription) -> str:
    """An array that fits: what may have any length has the length 1."""
    shape = tuple(size if isinstance(size, int) else 1 for size in tensor.shape)
    if tensor.dtype == "string":
        return f"np.full({shape}, '', dtype=object)"
    return f'np.zeros({shape}, "{tensor.dtype}")'
