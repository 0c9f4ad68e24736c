"""Observes runs of a network: its outputs, and the mean of each channel of some layers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.runtimes.openvino import compile_model, settings
from hpcfair.runtimes.quiet_openvino import ov
from workers.engine.ports import Array
from workers.engine.types import Options

CONVOLUTIONS = frozenset({"Convolution", "GroupConvolution", "ConvolutionBackpropData"})


@dataclass(frozen=True, slots=True)
class Observation:
    """Outputs of one run by name, empty if they are not compared; for each layer the ``means`` of
    its channels, float64, and the ``counts`` of values per mean."""

    outputs: dict[str, Array]
    means: list[Array]
    counts: list[int]


def observe(
    model: Any,
    names: Sequence[str],
    options: Options,
    fit: Sequence[dict[str, Array]],
    check: Sequence[dict[str, Array]],
) -> list[Observation]:
    """Observe runs on ``fit``, without outputs, and then on ``check``."""
    copy = model.clone()
    outputs = [port.any_name for port in copy.outputs]
    nodes = {node.friendly_name: node for node in copy.get_ordered_ops()}
    # add_outputs() would leave out layers whose output is already one of the network's.
    results = [*copy.get_results(), *(ov.opset13.result(nodes[name]) for name in names)]
    watched = ov.Model(results, copy.get_sinks(), copy.get_parameters())
    request = compile_model(watched, settings(options)).create_infer_request()
    observations = []
    for number, each in enumerate((*fit, *check)):
        request.infer(each)
        values = [request.get_output_tensor(n).data.copy() for n in range(len(results))]
        layers = values[len(outputs) :]
        pairs = zip(names, layers, strict=True)
        means = [_channel_means(nodes[name], value) for name, value in pairs]
        counts = [layer.size // mean.size for layer, mean in zip(layers, means, strict=True)]
        compared = outputs if number >= len(fit) else ()
        named = dict(zip(compared, values, strict=False))
        observations.append(Observation(named, means, counts))
    return observations


def write_observations(observations: Sequence[Observation], folder: Path) -> None:
    """Write observations as files, to be read by :func:`read_observations`."""
    names = [list(each.outputs) for each in observations]
    counts = [each.counts for each in observations]
    (folder / "observations.json").write_text(json.dumps({"outputs": names, "counts": counts}))
    for number, each in enumerate(observations):
        np.savez(folder / f"{number}.npz", *each.means, *each.outputs.values())


def read_observations(folder: Path) -> list[Observation]:
    """The observations of :func:`write_observations`, which a child of the same network wrote."""
    described = json.loads((folder / "observations.json").read_text())
    observations = []
    pairs = zip(described["outputs"], described["counts"], strict=True)
    for number, (names, counts) in enumerate(pairs):
        with np.load(folder / f"{number}.npz", allow_pickle=False) as archive:
            arrays = [archive[f"arr_{at}"] for at in range(len(archive.files))]
        outputs = dict(zip(names, arrays[len(counts) :], strict=True))
        observations.append(Observation(outputs, arrays[: len(counts)], counts))
    return observations


def _channel_means(node: Any, value: Array) -> Array:
    """Mean of each channel, float64, of a shape that can be added to ``value``."""
    axis = 1 if node.get_type_name() in CONVOLUTIONS else value.ndim - 1
    others = tuple(each for each in range(value.ndim) if each != axis)
    return np.asarray(value.mean(axis=others, keepdims=True, dtype=np.float64))
