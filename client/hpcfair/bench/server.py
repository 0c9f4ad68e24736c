"""Measures a loaded model on this machine in the scenario ``server``."""

from datetime import datetime, timezone
from typing import Any

from hpcfair import machine
from hpcfair.bench.document import environment_here, target_here, versions
from hpcfair.bench.inputs import timing_inputs
from hpcfair.errors import BadInput
from hpcfair.loaded import Loaded
from hpcfair.measurement.arrivals import ServedRate, best_rate, largest_rate
from hpcfair.measurement.summary import latency_statistics
from hpcfair.record import record_id

#: Percentile of the latency that has a bound in MLPerf Inference.
PERCENTILE = 99.0
_SEED = 0


def measure_server(model: Loaded, bound_ns: int, samples: int) -> dict[str, Any]:
    """The document of schema ``hpcfair.bench/1`` of the largest rate whose 99th percentile keeps a
    bound, of the model's build.

    Args:
        samples: Of each rate that is tried; 1000 or more give a reliable percentile.

    Raises BadInput: the published model was loaded, which has no record to compare with.
    """
    original = model.record
    if original is None:
        raise BadInput(
            f"{model.name} was loaded without a build, which could be named in a record.",
            "Load it on a machine of a target that it is tuned for.",
        )
    old = original.document
    specs = [
        {**spec, "distribution": "normal"} if spec["distribution"] == "samples" else spec
        for spec in old["identity"]["inputs"]
    ]
    inputs = timing_inputs(specs, None)
    tried = largest_rate(
        lambda: model.run(inputs), bound_ns, percentile=PERCENTILE, samples=samples, seed=_SEED
    )
    best = best_rate(tried, bound_ns, PERCENTILE)
    document = {
        "schema": old["schema"],
        "identity": {**old["identity"], "inputs": specs, "kind": "reproduction"},
        "target": target_here(machine.describe()),
        "environment": environment_here(machine.describe()),
        "config": old["config"],
        "protocol": _protocol(best, tried, bound_ns),
        "samples": {"blocks": [{"process": 0, "candidate_ns": list(best.latencies_ns)}]},
        "statistics": {
            "candidate": {
                **latency_statistics(best.latencies_ns),
                "throughput_per_s": best.rate_per_s,
            }
        },
        "correctness": old["correctness"],
        "quality": {"unstable": False},
        "provenance": {
            "created_at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "tools": {"hpcfair": versions()["hpcfair"]},
            "reproduces": original.id,
        },
    }
    return {**document, "record_id": record_id(document)}


def _protocol(best: ServedRate, tried: list[ServedRate], bound_ns: int) -> dict[str, Any]:
    return {
        "scenario": "server",
        "clock": "perf_counter_ns",
        "order": "A",
        "processes": 1,
        "warmup_runs": 10,
        "runs_per_block": len(best.latencies_ns),
        "stop_rule": f"{len(tried)} rates of {len(best.latencies_ns)} samples, by bisection",
        "half_width": 1.0,
        "seed": _SEED,
        "load": {
            "arrivals": "poisson",
            "rate_per_s": best.rate_per_s,
            "bound_ns": bound_ns,
            "percentile": PERCENTILE,
            "is_kept": best.percentile_ns(PERCENTILE) <= bound_ns,
            "tried": [
                {
                    "rate_per_s": each.rate_per_s,
                    "percentile_ns": each.percentile_ns(PERCENTILE),
                    "n": len(each.latencies_ns),
                }
                for each in tried
                if each is not best
            ],
        },
    }
