"""The record of a repeated measurement."""

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from importlib import metadata
from typing import Any, get_args

from hpcfair import machine
from hpcfair.bench.rounds import Plan, RepeatedRounds
from hpcfair.measurement.ratio import CONFIDENCE, METHOD
from hpcfair.measurement.summary import block_document, latency_statistics, without_none
from hpcfair.measurement.types import Deviation, Side
from hpcfair.record import Record, record_id

#: Groups of the document that a repetition copies.
_COPIED = ("schema", "config")


def reproduction_document(
    original: Record,
    plan: Plan,
    rounds: RepeatedRounds,
    deviation: Deviation,
    load_before: float | None,
    reference: str,
    *,
    passed: bool,
) -> dict[str, Any]:
    """The document of schema ``hpcfair.bench/1`` of a measurement on this machine.

    Args:
        deviation: Of the outputs on the timing input.
        load_before: One-minute load average before the first round; ``None`` if unknown.
        reference: Readable name of the reference of the outputs.
        passed: Whether the deviation is within the limits of the tolerance class.
    """
    old = original.document
    ratio, blocks = rounds.ratio, rounds.blocks
    statement = rounds.verdict(old["protocol"]["half_width"])
    per_run = old["protocol"].get("samples_per_run", 1)
    runs = {
        "candidate": [ns for block in blocks for ns in block.candidate_ns],
        "baseline": [ns for block in blocks for ns in block.baseline_ns],
    }
    document = {
        **{name: old[name] for name in _COPIED},
        "identity": {**old["identity"], "kind": "reproduction"},
        "target": target_here(machine.describe()),
        "environment": environment_here(machine.describe()),
        "protocol": _protocol(old["protocol"], plan, rounds),
        "samples": {"blocks": [block_document(block) for block in blocks]},
        "statistics": {side: latency_statistics(ns, per_run) for side, ns in runs.items()},
        "comparison": {
            "baseline": old["comparison"]["baseline"],
            "ratio": ratio.value,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "method": METHOD,
            "confidence": CONFIDENCE,
            "verdict": statement,
        },
        "correctness": {
            **asdict(deviation),
            "reference": reference,
            "tolerance": old["config"]["tolerance"],
            "passed": passed,
            "samples": 1,
        },
        "quality": {"unstable": statement == "unstable", **_quality(rounds, load_before)},
        "provenance": {
            "created_at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "tools": {"hpcfair": versions()["hpcfair"]},
            "reproduces": original.id,
        },
    }
    return {**document, "record_id": record_id(document)}


def load_average() -> float | None:
    """One-minute load average; ``None`` if the system has none."""
    try:
        return os.getloadavg()[0]
    except (OSError, AttributeError):
        return None


def target_here(here: machine.Machine) -> dict[str, Any]:
    """The group ``target`` of a record of this machine."""
    return without_none(
        slug=machine.target_slug(here),
        architecture=here.architecture,
        features=sorted(here.features),
        device=platform.node() or "unnamed",
        processor=here.processor,
        cores=here.cores,
        threads=here.logical_cpus,
        memory_bytes=here.memory_bytes,
        microcode=here.microcode,
        caches=dict(here.caches) or None,
    )


def environment_here(here: machine.Machine) -> dict[str, Any]:
    """The group ``environment`` of a record of this machine."""
    return without_none(
        os=here.os,
        kernel=here.kernel,
        python=platform.python_version(),
        packages=versions(),
        sandbox="none",
        governor=here.governor,
        virtualisation=here.virtualisation,
    )


def _protocol(old: Mapping[str, Any], plan: Plan, rounds: RepeatedRounds) -> dict[str, Any]:
    queries = ("samples_per_run", "batch", "streams")
    return {
        **{name: old[name] for name in ("scenario", "half_width", "runs_per_block")},
        **{name: old[name] for name in queries if name in old},
        "clock": "perf_counter_ns",
        "order": "ABBA",
        "caller_placed": {side: side in rounds.placed for side in get_args(Side)},
        "processes": len(plan.rounds),
        "warmup_runs": plan.warmup_runs,
        "stop_rule": f"as many rounds as the record repeated: {sum(plan.rounds)}",
    }


def _quality(rounds: RepeatedRounds, load_before: float | None) -> dict[str, Any]:
    return without_none(
        load_before=load_before,
        load_after=load_average(),
        contended_rounds=list(rounds.off_level) or None,
        disturbed=rounds.baseline_shift is not None or None,
        repeated_processes=rounds.repetitions or None,
        baseline_shift=rounds.baseline_shift,
    )


def versions() -> dict[str, str]:
    """Versions of the packages that measure."""
    packages = {}
    for package in ("hpcfair", "numpy", "onnxruntime"):
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {"hpcfair": "0", **packages}
