"""Converts the weights of a revision without a network to ONNX, in a confined child process."""

import importlib.metadata
import importlib.util
import logging
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from hpcfair.isolation.limits import Limits, shown
from hpcfair.tickets import FileTicket, JobTicket
from registry.selectors.repository.weights import weights_in
from registry.selectors.results.conversion import CONFIG, WEIGHTS_SUFFIX
from registry.services.results.conversion import conversion_store
from registry.services.work.attempt import job_note
from registry.weightsfiles.facts import WeightsFacts
from workers.device.errors import JobFailure
from workers.device.ports import DeviceSettings, Hub
from workers.engine.child import call
from workers.engine.errors import CandidateFailed

logger = logging.getLogger(__name__)

#: Folder of the converted files. A revision with a network there would not be converted.
FOLDER = "converted"
#: Seconds of the child process: exports of large networks are retried with fewer dynamic sizes.
WALL_S = 1800.0
#: The tools that a conversion depends on; results name them with their versions.
_TOOLS = ("torch", "transformers", "onnx", "onnxscript", "safetensors")
#: Version of what this package converts. Incremented when it converts more, so that what an earlier
#: version refused is tried again.
VERSION = 3
_INDEX = "model.safetensors.index.json"
_READ = (CONFIG, _INDEX, "preprocessor_config.json")
#: Bytes of a weight while it is converted, and how many of them are held at a time: by PyTorch, and
#: by the exporter that serialises them.
_FLOAT_BYTES, _COPIES = 4, 3
_INSTALL = (
    "Operators install hpcfair-hub[convert] there (in a checkout: .venv/bin/python -m pip install "
    "-c constraints.txt -e '.[convert]'); within minutes the model is then converted by itself."
)
#: Names of tensors in the log.
_SHOWN = 5


def convert(hub: Hub, settings: DeviceSettings, folder: Path) -> tuple[FileTicket, ...]:
    """Convert the files of the job's revision, and store the network.

    Returns:
        The files of the network.

    Raises:
        JobFailure: the revision cannot be converted, with the reason for its owner.
    """
    ticket = hub.ticket
    _require_tools()
    weights = _weights(ticket)
    _require_memory(weights, settings.child_memory_bytes)
    sources = [file for file in ticket.files if file.path in _READ or file in weights]
    source, scratch = folder / "source", folder / "conversion"
    for each in (source, scratch, scratch / "out"):
        each.mkdir()
    hub.fetch(sources, source)
    hub.progress("convert", 0, None, f"{len(weights)} files of weights")
    report = _call(settings, source, scratch)
    files = tuple(
        FileTicket(f"{FOLDER}/{path.name}", hub.keep(path), path.stat().st_size)
        for path in _written(scratch / "out")
    )
    tools = {name: importlib.metadata.version(name) for name in _TOOLS}
    conversion_store(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        files={file.path: file.sha256 for file in files},
        provenance={
            **report,
            "tools": tools,
            "sources": {file.path: file.sha256 for file in sources},
        },
    )
    for line in _notes(report):
        job_note(job_uuid=ticket.job_uuid, fence=ticket.fence, message=line)
    return files


def converter_identity() -> str | None:
    """The version of the converter and of its tools here; ``None`` if a tool is missing."""
    if _missing_tools():
        return None
    tools = " ".join(f"{name} {importlib.metadata.version(name)}" for name in _TOOLS)
    return f"hub {VERSION} {tools}"


def _missing_tools() -> list[str]:
    return [name for name in _TOOLS if importlib.util.find_spec(name) is None]


def _require_tools() -> None:
    if missing := _missing_tools():
        lacks = f"lacks {', '.join(missing)}. {_INSTALL}"
        logger.warning("A model cannot be converted to ONNX: this worker %s", lacks)
        raise JobFailure(
            "invalid",
            "converter_missing",
            "The hub converts config.json and safetensors to ONNX, but the worker that took this "
            f"{lacks}",
        )


def _weights(ticket: JobTicket) -> dict[FileTicket, WeightsFacts]:
    """The files of weights with what their headers state. Raises JobFailure for impossible ones."""
    top = [file for file in ticket.files if "/" not in file.path]
    weights = [file for file in top if file.path.endswith(WEIGHTS_SUFFIX)]
    whole = [file for file in weights if file.path == "model.safetensors"]
    if not whole and not any(file.path == _INDEX for file in top):
        raise JobFailure(
            "invalid",
            "not_convertible",
            f"Beside config.json there is neither model.safetensors nor {_INDEX}, but "
            f"{', '.join(file.path for file in weights[:3])}.",
        )
    stated: dict[FileTicket, WeightsFacts] = {}
    for file in whole or weights:
        facts = weights_in(file.path, file.sha256, file.size_bytes)
        problem = facts if isinstance(facts, str) else " ".join(facts.findings if facts else ())
        if problem or not isinstance(facts, WeightsFacts):
            raise JobFailure("invalid", "not_convertible", f"{file.path}: {problem}")
        stated[file] = facts
    return stated


def _require_memory(weights: dict[FileTicket, WeightsFacts], memory_bytes: int) -> None:
    needed = _COPIES * _FLOAT_BYTES * sum(facts.parameters for facts in weights.values())
    if needed > memory_bytes:
        raise JobFailure(
            "invalid",
            "weights_too_large",
            f"Its {needed // (_COPIES * _FLOAT_BYTES):,} weights need {shown(needed)} of memory to "
            f"be converted, as float32 in {_COPIES} copies; workers of this hub permit "
            f"{shown(memory_bytes)}.",
        )


def _call(settings: DeviceSettings, source: Path, scratch: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = call(
            "workers.conversion.child:convert",
            limits=Limits(wall_s=WALL_S, memory_bytes=settings.child_memory_bytes),
            workspace=scratch,
            readable=[source],
            folder=str(source),
            out=str(scratch / "out"),
        )
    except CandidateFailed as failure:
        if failure.outcome == "infrastructure":
            raise
        code = "job_out_of_memory" if failure.cause == "memory" else "conversion_failed"
        detail = f"The process that converts it to ONNX ended: {failure}"
        raise JobFailure("invalid", code, detail) from failure
    if error := report.get("error"):
        detail = f"{error['detail']} {error.get('hint', '')}".strip()
        raise JobFailure("invalid", error["code"], detail)
    return report


def _written(out: Path) -> list[Path]:
    """The files that the child wrote. It has read untrusted files, so links are not followed."""
    names = ("model.onnx", "model.onnx.data")
    paths = [out / PurePosixPath(name) for name in names]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def _notes(report: dict[str, Any]) -> list[str]:
    sizes = ", ".join(report["dynamic"]) or "none"
    converted = (
        f"Converted {report['architecture']} to ONNX: {_listed(report['inputs'])} to "
        f"{_listed(report['outputs'])}; dynamic sizes: {sizes}; largest difference from PyTorch "
        f"{report['deviation']:.1e} of an output's largest value."
    )
    lines = [converted]
    if reason := report.get("without_cache"):
        lines.append(f"Without its cache of keys and values, so that it cannot generate: {reason}")
    if unused := report["unused"]:
        lines.append(
            f"{len(unused)} stored weights belong to no part of the class and were left out: "
            f"{', '.join(unused[:5])}."
        )
    return lines


def _listed(names: Sequence[str]) -> str:
    """The names of tensors; of a long list, such as a cache, the first and the last ones."""
    return ", ".join([*names[:_SHOWN], "…", names[-1]] if len(names) > _SHOWN + 2 else names)
