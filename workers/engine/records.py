"""Benchmark records: documents of schema ``hpcfair.bench/1``, named by their own digest."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from hpcfair.measurement.ratio import CONFIDENCE
from hpcfair.measurement.rounds import WARMUP_RUNS
from hpcfair.measurement.summary import block_document, latency_statistics, without_none
from hpcfair.scenarios import SINGLE_STREAM
from workers.engine.artifacts import ArtifactFile, artifact_files, artifact_sha256
from workers.engine.confirmation import ConfirmedResult
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult
from workers.engine.trials import Measurement
from workers.engine.types import BuildResult, TargetSpec, sha256_of

SCHEMA = "hpcfair.bench/1"

#: Samples further than this many interquartile ranges from the quartiles are outliers (Tukey).
_OUTLIER_IQRS = 3.0


@dataclass(frozen=True, slots=True)
class Origin:
    """The parts of a record that the engine does not know.

    Attributes:
        mlmodel: ``namespace/name``.
        revision: Commit id.
        device: The machine's name in the hub.
        sandbox: Isolation level of the child processes.
        created_at: RFC 3339 in UTC, ending in Z.
        tools: Name to version of the software that ran the search.
        provenance: Further fields of the schema's ``provenance``: ``job``, ``attempt``, ``fence``.
    """

    mlmodel: str
    revision: str
    device: str
    sandbox: str
    created_at: str
    tools: Mapping[str, str]
    search_key: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


def bench_record(
    request: TuningRequest,
    result: SearchResult,
    confirmed: ConfirmedResult,
    origin: Origin,
    kind: Literal["headline", "search-trial"] = "headline",
) -> dict[str, Any]:
    """The record of a confirmed result, with its ``record_id``. Raises ValueError if the build's
    files do not exist any more."""
    build, measurement = confirmed.build, confirmed.measurement
    files = artifact_files(build)
    document = {
        "schema": SCHEMA,
        "identity": _identity(request, result, confirmed, origin, kind, files),
        "target": _target(request.target, origin.device),
        "environment": _environment(request.target, build, origin.sandbox),
        "config": {
            **confirmed.trial.candidate.as_dict(),
            "runtime": build.runtime,
            "runtime_options": dict(build.runtime_options),
            "tolerance": build.tolerance,
        },
        "protocol": _protocol(measurement, request.seed),
        "samples": {"blocks": [block_document(block) for block in measurement.blocks]},
        "statistics": _statistics(measurement),
        "comparison": _comparison(measurement, result),
        "compile": without_none(
            wall_s=build.compile_s,
            artifact_bytes=sum(file.size_bytes for file in files),
            peak_rss_bytes=build.peak_rss_bytes,
        ),
        **_memory(measurement),
        **_generation(confirmed),
        **({"energy": measurement.energy} if measurement.energy else {}),
        "correctness": _correctness(request, result, confirmed),
        "quality": _quality(measurement),
        "search": without_none(
            number=confirmed.trial.number,
            proposed_by=confirmed.trial.proposed_by,
            seed=request.seed,
            search_key=origin.search_key,
            strategy=request.strategy,
            predicted_ratio=confirmed.trial.predicted_ratio,
        ),
        "provenance": {
            **origin.provenance,
            "created_at": origin.created_at,
            "tools": dict(origin.tools),
        },
    }
    return {"record_id": sha256_of(document), **document}


def _identity(
    request: TuningRequest,
    result: SearchResult,
    confirmed: ConfirmedResult,
    origin: Origin,
    kind: str,
    files: Sequence[ArtifactFile],
) -> dict[str, Any]:
    network, tests = request.network, result.tests
    inputs = []
    for spec in network.inputs:
        array = tests.timing[spec.name]
        distribution = "normal" if array.dtype.kind == "f" else "integers"
        source = {"distribution": distribution, "seed": tests.seed}
        if tests.source == "samples":
            source = {"distribution": "samples"}
        inputs.append(
            {"name": spec.name, "dtype": str(array.dtype), "shape": list(array.shape), **source}
        )
    return {
        "kind": kind,
        "mlmodel": origin.mlmodel,
        "revision": origin.revision,
        "model_sha256": network.model_sha256,
        "graph_hash": network.graph_hash,
        "artifact_sha256": artifact_sha256(files),
        "config_sha256": confirmed.trial.candidate.sha256,
        "inputs": inputs,
    }


def _target(target: TargetSpec, device: str) -> dict[str, Any]:
    facts = target.facts
    return without_none(
        slug=target.slug,
        architecture=target.architecture,
        features=sorted(target.features),
        device=device,
        processor=facts.get("processor", target.architecture),
        cores=target.cores,
        memory_bytes=target.memory_bytes,
        threads=facts.get("logical_cpus"),
        caches=facts.get("caches"),
        microcode=facts.get("microcode"),
        accelerators=facts.get("accelerators"),
        facts=facts or None,
    )


def _environment(target: TargetSpec, build: BuildResult, sandbox: str) -> dict[str, Any]:
    facts = target.facts
    return without_none(
        os=facts.get("os", platform.system()),
        kernel=facts.get("kernel", platform.release()),
        python=platform.python_version(),
        packages=dict(build.toolchain),
        sandbox=sandbox,
        governor=facts.get("governor"),
        virtualisation=facts.get("virtualisation"),
    )


def _protocol(measurement: Measurement, seed: int) -> dict[str, Any]:
    return {
        "scenario": SINGLE_STREAM,
        "clock": "perf_counter_ns",
        "order": "ABBA",
        "processes": len({block.process for block in measurement.blocks}),
        "warmup_runs": WARMUP_RUNS,
        # A round holds two blocks of each side; the inner two are stored as one.
        "runs_per_block": max(1, len(measurement.blocks[0].candidate_ns) // 2),
        "seed": seed,
        **measurement.protocol,
    }


def _statistics(measurement: Measurement) -> dict[str, Any]:
    runs = {
        "candidate": [ns for block in measurement.blocks for ns in block.candidate_ns],
        "baseline": [ns for block in measurement.blocks for ns in block.baseline_ns],
    }
    per_run = measurement.protocol.get("samples_per_run", 1)
    return {side: latency_statistics(ns, per_run) for side, ns in runs.items()}


def _comparison(measurement: Measurement, result: SearchResult) -> dict[str, Any]:
    return {
        "baseline": result.baseline.trial.candidate.as_dict(),
        "ratio": measurement.ratio.value,
        "ratio_low": measurement.ratio.low,
        "ratio_high": measurement.ratio.high,
        "method": measurement.method,
        "confidence": CONFIDENCE,
        "verdict": measurement.verdict,
    }


def _correctness(
    request: TuningRequest, result: SearchResult, confirmed: ConfirmedResult
) -> dict[str, Any]:
    check, tests = confirmed.output_check, result.tests
    versions = result.baseline.build.toolchain
    version = versions.get(request.reference_backend, "")
    return without_none(
        reference=f"{request.reference_backend} {version}, float32, optimisations off",
        max_absolute=check.deviation.max_absolute,
        max_relative=check.deviation.max_relative,
        relative_l2=check.deviation.relative_l2,
        cosine=check.deviation.cosine,
        tolerance=confirmed.build.tolerance,
        # A build that fails its check is not measured and has no record.
        passed=True,
        samples=check.samples,
        sizes=check.sizes or None,
        random_relative_l2=check.random_relative_l2,
        propagates=not check.lost if check.planted else None,
        accuracy=check.accuracy,
        accuracy_reference=None if check.accuracy is None else result.reference_accuracy,
        labelled_samples=None if tests.labels is None else len(tests.labels),
    )


def _quality(measurement: Measurement) -> dict[str, Any]:
    samples = np.array([ns for b in measurement.blocks for ns in b.candidate_ns], np.float64)
    low, high = np.quantile(samples, [0.25, 0.75])
    reach = _OUTLIER_IQRS * (high - low)
    outliers = np.mean((samples < low - reach) | (samples > high + reach))
    return {**measurement.quality, "outlier_share": float(outliers)}


def _memory(measurement: Measurement) -> dict[str, Any]:
    peak = measurement.peak_rss_bytes
    return {} if peak is None else {"memory": {"peak_rss_bytes": peak}}


def _generation(confirmed: ConfirmedResult) -> dict[str, Any]:
    timings = [timing.to_json() for timing in confirmed.generation]
    return {"generation": timings} if timings else {}
