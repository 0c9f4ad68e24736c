"""Builds the artefact of a candidate, in the child process of a build."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hpcfair.errors import HpcfairError
from hpcfair.runtimes.openvino import compile_model, read_model, reshaped, settings
from hpcfair.runtimes.openvino_nan import keep_nan
from workers.backends.openvino.amx import with_faulty_in_float32
from workers.backends.openvino.bias import correct_biases
from workers.backends.openvino.convert import has_nan, precisions, read_onnx, save
from workers.backends.openvino.quantised import compress_weights, quantised
from workers.backends.openvino.source import SourceNetwork
from workers.engine.errors import InvalidCandidate
from workers.engine.random_inputs import open_sizes
from workers.engine.trials import LIMIT
from workers.engine.types import Network, Options


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
        if precision != "float32":
            exact = model = with_faulty_in_float32(exact)
        artefact = str(options.get("artefact", "onnx"))
        if precision == "int8":
            model, quantization = quantised(exact, network, options)
            provenance |= quantization
        elif precision == "mixed":
            # It imports ONNX Runtime, which few builds need.
            from workers.backends.openvino.mixed import fastest_within  # noqa: PLC0415

            source = SourceNetwork(network, readable.source_path, artefact, runtime_options)
            mixed = fastest_within(float(options[LIMIT]), exact, source)
            model, precision = mixed.model, mixed.precision
            provenance |= mixed.provenance
    if model is not exact:
        compress_weights(model)
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
