"""The figures ``offline`` and ``multi_stream`` of the benchmark ``served``.

They are of the fastest exact build, over the runtime's defaults at their best batch of at most 64:
samples per second, and the time of a query of eight samples.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks.report import say
from benchmarks.served_figures import speedup_of
from hpcfair.precisions import TOLERANCES
from hpcfair.scenarios import result_member
from workers.device.queries import QUERY_SHARES
from workers.engine.clock import Clock
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import InfrastructureFailed, ReferenceFailed
from workers.engine.ports import Backend, Device, Progress
from workers.engine.queries.errors import NotMeasured
from workers.engine.queries.explore import QueryRequest, QueryResult, measure_queries
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult

#: Names of the figures.
QUERIES = tuple(map(result_member, QUERY_SHARES))
_DEFAULTS = {"speedup": 1.0, "low": 1.0, "high": 1.0}


def query_builds(
    request: TuningRequest,
    backends: Mapping[str, Backend],
    device: Device,
    clock: Clock,
    progress: Progress,
    result: SearchResult,
    search_s: float,
) -> dict[str, Any]:
    """For each scenario of queries, the exact build that its users get, as an entry of ``classes``;
    none for one that cannot be measured in the time that a hub takes after a search of ``search_s``
    seconds."""
    builds: dict[str, Any] = {}
    queries: QueryResult | None = None
    for scenario, share in QUERY_SHARES.items():
        try:
            queries = measure_queries(
                request,
                backends,
                device,
                result,
                QueryRequest(scenario, share * search_s, queries),
                clock=clock,
                progress=progress,
            )
        except (NotMeasured, ReferenceFailed, InfrastructureFailed) as error:
            say(f"{scenario}: {error}")
        else:
            builds[result_member(scenario)] = _exact_build(queries)
    return builds


def _exact_build(queries: QueryResult) -> dict[str, Any]:
    exact = [
        each.confirmed
        for each in queries.configurations
        if each.confirmed.build.tolerance == TOLERANCES[0]
    ]
    proved = [each for each in exact if each.measurement.verdict == "faster"]
    best = proved[0] if proved else queries.baseline.confirmed
    measured = best.measurement
    return {
        **best.trial.candidate.as_dict(),
        # The defaults have ratio 1; their own measurement shows the noise.
        **(speedup_of(best) if proved else _DEFAULTS),
        "verdict": measured.verdict,
        "tolerance": best.build.tolerance,
        "candidate_ms": measured.candidate_p50_ns / 1e6,
        "baseline_ms": measured.baseline_p50_ns / 1e6,
        "rounds": len(measured.blocks),
        "quality": measured.quality,
        "protocol": measured.protocol,
        "not_proved": [_not_proved(each) for each in exact if each not in proved],
    }


def _not_proved(confirmed: ConfirmedResult) -> dict[str, Any]:
    """A build whose gain was not proved, with what was measured of it."""
    measured = confirmed.measurement
    return {
        **confirmed.trial.candidate.as_dict(),
        **speedup_of(confirmed),
        "verdict": measured.verdict,
        "rounds": len(measured.blocks),
        "sweep": measured.protocol["sweep"],
    }
