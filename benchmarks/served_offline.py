"""The figure ``offline`` of the benchmark ``served``.

It counts samples per second of the fastest exact build, over the runtime's defaults at their best
batch of 1, 2, 4, ... 64.
"""

from collections.abc import Mapping
from typing import Any

from benchmarks.report import say
from benchmarks.served_figures import speedup_of
from hpcfair.precisions import TOLERANCES
from workers.engine.clock import Clock
from workers.engine.confirmation import ConfirmedResult
from workers.engine.errors import InfrastructureFailed, ReferenceFailed
from workers.engine.offline.errors import NotMeasured
from workers.engine.offline.explore import OFFLINE_SHARE, measure_offline
from workers.engine.ports import Backend, Device, Progress
from workers.engine.requests import TuningRequest
from workers.engine.search_result import SearchResult

OFFLINE = "offline"
_DEFAULTS = {"speedup": 1.0, "low": 1.0, "high": 1.0}


def offline_build(
    request: TuningRequest,
    backends: Mapping[str, Backend],
    device: Device,
    clock: Clock,
    progress: Progress,
    result: SearchResult,
    search_s: float,
) -> dict[str, Any] | None:
    """The exact build that a user of the scenario gets, as an entry of ``classes``; ``None`` if the
    throughput cannot be measured in the time that a hub takes after a search of ``search_s``
    seconds."""
    try:
        offline = measure_offline(
            request,
            backends,
            device,
            result,
            OFFLINE_SHARE * search_s,
            clock=clock,
            progress=progress,
        )
    except (NotMeasured, ReferenceFailed, InfrastructureFailed) as error:
        say(f"offline: {error}")
        return None
    exact = [
        each.confirmed
        for each in offline.configurations
        if each.confirmed.build.tolerance == TOLERANCES[0]
    ]
    proved = [each for each in exact if each.measurement.verdict == "faster"]
    best = proved[0] if proved else offline.baseline.confirmed
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
