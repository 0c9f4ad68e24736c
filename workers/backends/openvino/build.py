"""Builds the artefact of a candidate, in the child process of a build."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hpcfair.errors import HpcfairError
from hpcfair.runtimes.openvino import compile_model, read_model, reshaped, settings
from hpcfair.runtimes.openvino_nan import keep_nan
from workers.backends.openvino.bias import correct_biases
from workers.backends.openvino.convert import has_nan, precisions, read_onnx, save
from workers.backends.openvino.source import SourceNetwork
from workers.engine.errors import InvalidCandidate
from workers.engine.intermediates import intermediate
from workers.engine.random_inputs import open_sizes
from workers.engine.trials import LIMIT
from workers.engine.types import Network, Options

#: Options that determine the quantised network.
_QUANTISING = ("preset", "smoothing", "artefact")
#: Files of its intermediate.
_QUANTISED, _PROVENANCE = "model.xml", "provenance.json"


@dataclass(frozen=True, slots=True)
class MadeBuild:
    """A written IR: the precision of its least exact layers, and provenance."""

    precision: str
    provenance: dict[str, Any]


def make(network: Network, options: Options, runtime_options: Options, path: Path) -> MadeBuild:
    """Write the IR; its provenance has the precisions that operators compute in. Raises
    InvalidCandidate if OpenVINO cannot build it or no operator computes in the precision."""
    with _source(network, options) as (readable, rewrite):
        provenance = dict(rewrite)
        exact = model = read_onnx(readable)
        precision = str(options["precision"])
        artefact = str(options.get("artefact", "onnx"))
        if precision == "int8":
            model, quantization = _quantised(model, network, options)
            provenance |= quantization
        elif precision == "mixed":
            # The import takes seconds, as that of the quantiser.
            from workers.backends.openvino.mixed import fastest_within  # noqa: PLC0415

            source = SourceNetwork(network, readable.source_path, artefact, runtime_options)
            mixed = fastest_within(float(options[LIMIT]), exact, source)
            model, precision = mixed.model, mixed.precision
            provenance |= mixed.provenance
    if precision != "float32":
        model, correction = correct_biases(model, exact, network, runtime_options, artefact)
        provenance |= correction
    if has_nan(model):
        model = keep_nan(model)
        provenance["weights"] = "NaN or infinity"
    save(model, path)
    counts = _precisions(network, runtime_options, path)
    if precision not in counts and precision != "float32":
        raise InvalidCandidate(
            f"no operator of this network computes in {precision} here, but in {_listed(counts)}"
        )
    return MadeBuild(precision, provenance | {"precisions": counts})


@contextmanager
def _source(network: Network, options: Options) -> Iterator[tuple[Network, dict[str, Any]]]:
    """The network to read, rewritten if the options ask for it, and provenance of the rewrite."""
    if options.get("artefact", "onnx") == "onnx":
        yield network, {}
        return
    # The import takes half a second, and few builds need it.
    from workers.backends.openvino.rewrite import save_rewritten  # noqa: PLC0415

    with TemporaryDirectory() as scratch:
        path = Path(scratch) / network.source_path.name
        provenance = save_rewritten(network.source_path, path)
        yield replace(network, normal_path=path), provenance


def _quantised(model: Any, network: Network, options: Options) -> tuple[Any, dict[str, Any]]:
    """The network in int8 and its provenance, shared by candidates that differ in the rest."""

    def make(folder: Path) -> None:
        # The import takes seconds and is needed for int8 only.
        from workers.backends.openvino.quantize import quantize  # noqa: PLC0415

        quantised, provenance = quantize(model.clone(), network, options)
        save(quantised, folder / _QUANTISED)
        (folder / _PROVENANCE).write_text(json.dumps(provenance))

    facts = {name: options[name] for name in _QUANTISING if name in options}
    with intermediate(network, "openvino int8", facts, make) as folder:
        provenance: dict[str, Any] = json.loads((folder / _PROVENANCE).read_text())
        return read_model(folder / _QUANTISED), provenance


def _precisions(network: Network, runtime_options: Options, path: Path) -> dict[str, int]:
    """Number of operators by precision, of the written network opened as by its users."""
    shapes = None
    if runtime_options.get("shapes") == "static":
        sizes = open_sizes(network)
        shapes = [
            tuple(size if isinstance(size, int) else sizes[size] for size in spec.shape)
            for spec in network.inputs
        ]
    try:
        model = reshaped(read_model(path), shapes)
        return precisions(compile_model(model, settings(runtime_options)))
    except HpcfairError as error:
        raise InvalidCandidate(f"{error.detail} {error.hint}".strip()) from error


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items())) or "none"
