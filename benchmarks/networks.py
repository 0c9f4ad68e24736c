"""The example models as networks of the engine."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.report import say
from examples.models.catalogue import make
from workers.backends import registry
from workers.engine.convolutions import convolution_sizes
from workers.engine.types import AlternativeFormat, Network, TensorSpec
from workers.inspection.inspect import read_folder

SAMPLES = "samples.npz"


def example(name: str, cache: Path) -> Network:
    """The example ``name`` of :mod:`examples.models` (else KeyError), cached in ``cache``."""
    folder = cache / "models" / name
    if not (folder / SAMPLES).exists():
        say(f"{name}: making the model")
        make(name, folder)
    return network_of(folder)


def network_of(folder: Path) -> Network:
    """The network in ``folder``, with the facts of its inspection. Raises InspectionError if the
    hub would refuse its files."""
    # Absolute, because child processes work in folders of their own.
    folder = folder.resolve()
    description = read_folder(folder, None)
    (graph,) = description["graphs"]
    path = folder / graph["path"]
    samples = folder / SAMPLES
    return Network(
        model_path=path,
        model_sha256=_sha256(path),
        graph_hash=graph["graph_hash"],
        architecture_class=graph["architecture_class"],
        inputs=_specs(graph["signature"]["inputs"]),
        outputs=_specs(graph["signature"]["outputs"]),
        operators=graph["operators"],
        parameters=graph["parameters"],
        macs=graph["macs"],
        embedding=tuple(graph["embedding"]),
        integer_bounds=graph["integer_bounds"],
        convolutions=convolution_sizes(graph["convolutions"]),
        samples_path=samples if samples.exists() else None,
        alternatives=tuple(
            AlternativeFormat(form["format"], folder / form["path"], _sha256(folder / form["path"]))
            for form in graph["forms"]
        ),
    )


def backends_for(network: Network | None, names: Iterable[str]) -> list[str]:
    """The backends of ``names`` that take a format of ``network``, or ONNX if it is unknown."""
    formats = {"onnx", *(form.format for form in (network.alternatives if network else ()))}
    every, _ = registry.entries()
    return [name for name in names if not every[name].formats.isdisjoint(formats)]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _specs(tensors: list[dict[str, Any]]) -> tuple[TensorSpec, ...]:
    return tuple(
        TensorSpec(tensor["name"], tensor["dtype"], tuple(tensor["shape"])) for tensor in tensors
    )
