"""The engine's trial store, at the hub."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hpcfair.measurement.types import Deviation
from workers.device.ports import Hub
from workers.engine.trial_store import measurement_from
from workers.engine.trials import Experience, Prior, Trial
from workers.engine.types import BuildResult, Candidate


class JobTrialStore:
    """Stores each trial of a job at once, under the job's fence.

    Args:
        search_key: See :func:`workers.device.tune.search_key`.
        repeated: Inconclusive candidates that are measured again and are the history, as
            :func:`workers.device.inconclusive.inconclusive_of` describes them.
    """

    def __init__(
        self,
        hub: Hub,
        search_key: str,
        repeated: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        self._hub = hub
        self._search_key = search_key
        self._repeated = repeated

    def trials(self) -> Sequence[Trial]:
        """Trials of earlier attempts of this job."""
        return [_trial(row) for row in self._hub.read("trials_of_job")]

    def history(self) -> Sequence[Prior]:
        """Measured candidates of earlier jobs with the same key, by ratio."""
        rows = self._repeated
        if rows is None:
            rows = self._hub.read("history", search_key=self._search_key)
        return [Prior(_candidate(row["candidate"]), row["ratio"], row["tolerance"]) for row in rows]

    def experience(self) -> Sequence[Experience]:
        """Trials of jobs with other keys, newest first."""
        rows = self._hub.read("experience", search_key=self._search_key)
        return [_experience(row) for row in rows]

    def begin(self, candidate: Candidate) -> None:
        """Store which candidate is tried next; raises ``LeaseLost``."""
        self._hub.write("candidate_begin", config_sha256=candidate.sha256)

    def add(self, trial: Trial) -> None:
        """Store a trial; raises ``LeaseLost``."""
        self._hub.write("trial_add", trial=_row(trial, self._search_key))


def _row(trial: Trial, search_key: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "search_key": search_key,
        "number": trial.number,
        "config_sha256": trial.candidate.sha256,
        "candidate": trial.candidate.as_dict(),
        "proposed_by": trial.proposed_by,
        "predicted_ratio": trial.predicted_ratio,
        "outcome": trial.outcome,
        "failure_detail": trial.detail,
        "accuracy": trial.accuracy,
        "duration_s": trial.duration_s,
    }
    if trial.build is not None and trial.build.outcome == "measured":
        row |= {"tolerance": trial.build.tolerance, "compile_s": trial.build.compile_s}
    if trial.deviation is not None:
        row["deviation"] = asdict(trial.deviation)
    if trial.measurement is not None:
        measured = trial.measurement
        row |= {
            "ratio": measured.ratio.value,
            "ratio_low": measured.ratio.low,
            "ratio_high": measured.ratio.high,
            "p50_ns": measured.candidate_p50_ns,
            "measurement": asdict(measured),
        }
    return row


def _deviation(figures: dict[str, float]) -> Deviation | None:
    # Earlier versions stored the error on random inputs here, too.
    names = Deviation.__dataclass_fields__
    return Deviation(**{name: figures[name] for name in names}) if figures else None


def _trial(row: dict[str, Any]) -> Trial:
    build = None
    if row["tolerance"]:
        build = BuildResult(
            "measured", tolerance=row["tolerance"], compile_s=row["compile_s"] or 0.0
        )
    return Trial(
        number=row["number"],
        candidate=_candidate(row["candidate"]),
        proposed_by=row["proposed_by"],
        outcome=row["outcome"],
        duration_s=row["duration_s"],
        build=build,
        deviation=_deviation(row["deviation"]),
        accuracy=row["accuracy"],
        measurement=measurement_from(row["measurement"]) if row["measurement"] else None,
        predicted_ratio=row["predicted_ratio"],
        detail=row["failure_detail"],
    )


def _experience(row: dict[str, Any]) -> Experience:
    return Experience(
        candidate=_candidate(row["candidate"]),
        outcome=row["outcome"],
        tolerance=row["tolerance"] or "exact",
        ratio=row["ratio"],
        network=row["graph_hash"],
        architecture_class=row["architecture_class"],
        embedding=tuple(row["embedding"]),
        target=row["target"],
        features=frozenset(row["features"]),
        seconds=row["duration_s"],
    )


def _candidate(stored: dict[str, Any]) -> Candidate:
    return Candidate(stored["backend"], stored["options"])
