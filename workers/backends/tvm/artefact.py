"""Writes the library of a build and its signature. Runs in the child process of a build."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from hpcfair.runtimes.tvm import SIGNATURE
from workers.backends.space import has_open_dimensions
from workers.backends.tvm import compile as compiling
from workers.backends.tvm.database import DatabaseRecord, read_records
from workers.backends.tvm.importer import import_model
from workers.backends.tvm.passes import pipeline_of
from workers.backends.tvm.rows import rows_dimension
from workers.backends.tvm.space import DATABASE, FIXED
from workers.engine.errors import InvalidCandidate
from workers.engine.random_inputs import open_sizes
from workers.engine.types import Network, Options, TensorSpec

LIBRARY = "model.so"
#: Bytes of weights; the code model of libraries limits offsets to 2 GiB.
MOST_BYTES = 1_500_000_000


def write(
    network: Network, target: Mapping[str, Any], options: Options, out: Path
) -> tuple[str, dict[str, Any]]:
    """Compile a candidate for TVM's ``target`` into ``out``; returns the library's name,
    provenance.

    Raises InvalidCandidate, which gives the step and the reason, if TVM cannot compile it.
    """
    records = records_of(network, options)
    if _size(network.source_path) > MOST_BYTES:
        raise InvalidCandidate(f"libraries of TVM support weights of up to {MOST_BYTES} bytes")
    pipeline = pipeline_of(str(options["passes"]))
    started = perf_counter()
    imported = imported_of(network, options)
    import_s = perf_counter() - started
    compiled = compiling.compile_network(imported, pipeline, target, records)
    with tempfile.TemporaryDirectory() as workspace:
        compiling.export(compiled, out / LIBRARY, Path(workspace), target)
    signature = signature_of(network, options)
    (out / SIGNATURE).write_text(json.dumps(signature, indent=1) + "\n", encoding="utf-8")
    timed = {"import": import_s, **compiled.pass_s}
    provenance = {
        "options": dict(options),
        "target": dict(target),
        "passes": list(pipeline.names),
        "precisions": compiled.precisions,
        # Equal options once gave different bytes in one process, for an unknown reason.
        "reproducible": False,
        "fingerprint": _fingerprint(compiled),
        **_fixed(network, options, signature),
        **_schedules(network, compiled.scheduled, records),
        "pass_s": {name: round(seconds, 6) for name, seconds in timed.items()},
    }
    return LIBRARY, provenance


def rehearse(
    network: Network, target: Mapping[str, Any], options: Options, *, timed: bool
) -> tuple[float, str]:
    """Compile a candidate without linking it; see
    :meth:`workers.engine.passes.menu.PassBackend.rehearse`."""
    records, pipeline = records_of(network, options), pipeline_of(str(options["passes"]))
    started = perf_counter()
    imported = imported_of(network, options)
    compiled = compiling.compile_network(imported, pipeline, target, records, machine_code=timed)
    seconds = perf_counter() - started
    return seconds, "" if timed else _fingerprint(compiled)


def records_of(network: Network, options: Options) -> dict[str, DatabaseRecord]:
    """Schedules of a candidate by key; empty if its options do not use any."""
    if options.get("schedules") != DATABASE or network.schedules_path is None:
        return {}
    return read_records(network.schedules_path)


def imported_of(network: Network, options: Options) -> Any:
    """The imported network, with static shapes if the options ask for them."""
    sizes = open_sizes(network) if options["shapes"] == FIXED else None
    return import_model(network.source_path, network.inputs, sizes)


def signature_of(network: Network, options: Options) -> dict[str, Any]:
    """Contents of the signature file: inputs, outputs, and whether rows run one by one."""
    sizes: Mapping[str, int] = {}
    rows = ""
    if options["shapes"] == FIXED and has_open_dimensions(network):
        rows = rows_dimension(network)
        sizes = {name: size for name, size in open_sizes(network).items() if name != rows}
    return {
        "inputs": [_described(spec, sizes) for spec in network.inputs],
        "outputs": [_described(spec, sizes, rows) for spec in network.outputs],
        "by_row": bool(rows),
    }


def _fingerprint(compiled: compiling.Compiled) -> str:
    """Digest of the program before code generation, weights included."""
    return f"{compiling.fingerprint(compiled.module):016x}"


def _size(path: Path) -> int:
    """Bytes of the network's folder: the file and its external data."""
    return sum(file.stat().st_size for file in path.parent.iterdir() if file.is_file())


def _described(spec: TensorSpec, sizes: Mapping[str, int], rows: str = "") -> dict[str, Any]:
    """A tensor of the signature; ``rows`` is its first dimension, whatever the file calls it."""
    shape = [sizes.get(size, size) if isinstance(size, str) else size for size in spec.shape]
    if rows:
        shape[0] = rows
    return {"name": spec.name, "dtype": spec.dtype, "shape": shape}


def _fixed(network: Network, options: Options, signature: Mapping[str, Any]) -> dict[str, Any]:
    """Provenance of static shapes: their sizes, and whether rows run one by one."""
    if options["shapes"] != FIXED or not has_open_dimensions(network):
        return {}
    return {"sizes": open_sizes(network), "by_row": signature["by_row"]}


def _schedules(
    network: Network, scheduled: Mapping[str, str], records: Mapping[str, DatabaseRecord]
) -> dict[str, Any]:
    """Provenance of schedules: digest of the file, and the functions that have one."""
    if not records or network.schedules_path is None:
        return {}
    content = network.schedules_path.read_bytes()
    return {
        "schedules": dict(sorted(scheduled.items())),
        "schedules_sha256": hashlib.sha256(content).hexdigest(),
    }
