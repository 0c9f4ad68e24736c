"""JSON Schemas (2020-12) of the reads and writes of a device for a job that it has claimed.

Each operation has the schema of its parameters (:data:`READS`) or columns (:data:`WRITES`). All are
closed: unknown names are refused. Texts, lists and numbers are bounded by the columns of the tables
and by what a machine can produce. :mod:`registry.services.work.operations` performs the operations.
"""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from registry.scenarios import Scenario
from registry.schemas import problems_by
from registry.schemas.experiments import ABLATION, CROSS_APPLICATION
from registry.schemas.roof import ROOFS
from registry.schemas.schedule import SCHEDULE_TASK, SCHEDULE_TRIAL
from registry.schemas.shapes import (
    ACCURACY,
    BUILD_DEVIATION,
    CANDIDATE,
    CLASS,
    COUNT,
    DETAIL,
    DEVIATION,
    DURATION,
    FLAG,
    FLOAT,
    MEASUREMENT,
    NANOSECONDS,
    NUMBER,
    OBJECT,
    OPTIONS,
    OUTCOME,
    PER_SECOND,
    RATIO,
    SECONDS,
    SHA256,
    TOLERANCE,
    TOOLCHAIN,
    UUID,
    VERSIONS,
    Schema,
    choice,
    closed,
    listing,
    mapping,
    nullable,
    text,
)
from registry.states import ReproductionOutcome, TensorSide, ToleranceClass, Verdict

_TRIAL = closed(
    {
        "search_key": SHA256,
        "number": NUMBER,
        "config_sha256": SHA256,
        "candidate": CANDIDATE,
        "proposed_by": text(32, 1),
        "outcome": OUTCOME,
        "duration_s": SECONDS,
    },
    {
        "predicted_ratio": nullable(FLOAT),
        "failure_detail": DETAIL,
        "tolerance": choice(["", *ToleranceClass.values]),
        **dict.fromkeys(("ratio", "ratio_low", "ratio_high"), nullable(RATIO)),
        "p50_ns": nullable(NANOSECONDS),
        "deviation": BUILD_DEVIATION,
        "accuracy": nullable(ACCURACY),
        "measurement": MEASUREMENT,
        "compile_s": nullable(SECONDS),
    },
)

_BUILD = closed(
    {
        "config_sha256": SHA256,
        "candidate": CANDIDATE,
        "runtime": text(32, 1),
        "entry_point": text(1024),
        "tolerance": TOLERANCE,
        "is_baseline": FLAG,
        "record_id": SHA256,
        "ratio": RATIO,
        "verdict": choice(Verdict.values),
        "p50_ns": NANOSECONDS,
        "files": {**mapping(SHA256, 10_000), "minProperties": 1},
    },
    {
        "runtime_options": OPTIONS,
        "deviation": BUILD_DEVIATION,
        "accuracy": nullable(ACCURACY),
        "accuracy_reference": nullable(ACCURACY),
        "provenance": OBJECT,
        "execution": closed(
            {"batch": {"type": "integer", "minimum": 1}, "streams": choice(["one", "cores"])}
        ),
        "throughput_per_s": nullable(PER_SECOND),
    },
)

_PASS_RATIOS = (
    "compile_ratio", "compile_ratio_low", "compile_ratio_high", "ratio", "ratio_low", "ratio_high",
)  # fmt: skip
_PASS_TRIAL = closed(
    {
        "backend": text(32, 1),
        "toolchain": TOOLCHAIN,
        "architecture_class": CLASS,
        "graph_hash": SHA256,
        "number": NUMBER,
        "role": text(16, 1),
        "passes": text(100_000),
        "outcome": OUTCOME,
    },
    {
        "about": text(200),
        "failure_detail": DETAIL,
        "compile_s": nullable(SECONDS),
        **dict.fromkeys(_PASS_RATIOS, nullable(RATIO)),
        "same_code": FLAG,
        "measurement": OBJECT,
    },
)
_TENSOR = closed(
    {
        "number": NUMBER,
        "side": choice(TensorSide.values),
        "index": NUMBER,
        "name": text(1024, 1),
        "sha256": SHA256,
        "is_made": FLAG,
    }
)

#: Operation to the schema of its parameters.
READS: dict[str, Schema] = {
    "trials_of_job": closed({}),
    "history": closed({"search_key": SHA256}),
    "experience": closed({"search_key": SHA256}),
    "inconclusive_candidates": closed({}),
    "has_confirmed_builds": closed({}),
    "schedules_best": closed({"toolchain": TOOLCHAIN, "graph_hash": SHA256}),
    "schedules_similar": closed({"toolchain": TOOLCHAIN, "key": SHA256}),
    "schedule_trials": closed({"toolchain": TOOLCHAIN, "key": SHA256}),
    "schedule_trials_of_job": closed({}),
    "principles": closed({"anchors": listing(text(64), 1000)}),
    "workload_of_job": closed({}),
    "ablations_of_job": closed({}),
    "foreign_schedules_of_job": closed({}),
    "cross_applications_of_job": closed({}),
    "class_trials": closed(
        {"backend": text(32, 1), "toolchain": TOOLCHAIN, "architecture_class": CLASS}
    ),
    "pass_trials_of_job": closed({"backend": text(32, 1)}),
    "portfolio_of": closed({"architecture_class": CLASS, "toolchains": mapping(text(200), 100)}),
    "builds_of_job": closed({}),
    "outcomes_of_job": closed({}),
    "tests_of_job": closed({}),
    "is_search_due": closed({}),
    "run_of_job": closed({}),
    "roof_tools": closed({}),
}

#: Operation to the schema of its columns.
WRITES: dict[str, Schema] = {
    "progress": closed(
        {
            "phase": text(64, 1),
            "done": COUNT,
            "total": nullable(COUNT),
            "message": text(10_000),
        },
        {"used_s": nullable(SECONDS), "budget_s": nullable(SECONDS)},
    ),
    "note": closed({"message": text(10_000)}),
    "yield": closed({}, {"reason": text(500, 1), "estimate_s": SECONDS}),
    "candidate_begin": closed({"config_sha256": SHA256}),
    "trial_add": closed({"trial": _TRIAL}),
    # The document has a schema of its own, hpcfair.bench/1, which its service applies.
    "record_add": closed({"document": OBJECT}),
    "builds_publish": closed(
        {"builds": listing(_BUILD, 100, 1)},
        {
            "undecided": listing(TOLERANCE, 10),
            "decided": listing(SHA256, 1000),
            "scenario": choice(Scenario.values),
        },
    ),
    "builds_add": closed({"builds": listing(_BUILD, 100)}),
    # The service checks the structure of a profile in more detail.
    "profile_store": closed({"config_sha256": SHA256, "profile": OBJECT}),
    "schedule_task_add": closed(
        {
            "task": SCHEDULE_TASK,
            "source": {**text(6_000_000, 1), "contentEncoding": "base64"},
            "calls": NUMBER,
        }
    ),
    "schedule_trial_add": closed({"trial": SCHEDULE_TRIAL}),
    "schedule_confirm": closed(
        {
            "key": SHA256,
            "toolchain": TOOLCHAIN,
            "digest": SHA256,
            "seconds": listing(DURATION, least=1),
            "trace": {},
        }
    ),
    "ablation_add": closed({"ablation": ABLATION}),
    "cross_application_add": closed({"application": CROSS_APPLICATION}),
    "pass_trial_add": closed({"trial": _PASS_TRIAL}),
    "portfolio_store": closed(
        {
            "backend": text(32, 1),
            "toolchain": TOOLCHAIN,
            "architecture_class": CLASS,
            "networks": NUMBER,
            "lists": listing(OBJECT, 100),
        }
    ),
    "plan_follow_up": closed({}),
    "reproduction_add": closed(
        {
            "build": UUID,
            "tools": VERSIONS,
            "outcome": choice(ReproductionOutcome.values),
        },
        {"deviation": nullable(DEVIATION), "detail": DETAIL},
    ),
    "tests_store": closed({"tensors": listing(_TENSOR, 20_000, 1)}),
    # The report has a schema of its own, remote-run.json, which its service applies.
    "roofs_store": ROOFS,
    "run_store": closed({"report": OBJECT, "outputs": SHA256}),
}


def problems(name: str, document: Any, *, limit: int = 20) -> dict[str, str]:
    """Problems of the parameters or columns of an operation: JSON path to a sentence."""
    return problems_by(_validator(name), document, limit)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(READS[name] if name in READS else WRITES[name])
