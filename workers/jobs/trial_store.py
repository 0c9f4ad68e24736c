"""The engine's trial store, over the hub's services."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hpcfair.measurement.types import Deviation
from registry.errors import Conflict
from registry.selectors.results.trial import experience, history, trials_of_job
from registry.services.results.trial import trial_add
from registry.tickets import JobTicket
from workers.engine.errors import LeaseLost
from workers.engine.trial_store import measurement_from
from workers.engine.trials import Experience, Prior, Trial
from workers.engine.types import BuildResult, Candidate


class RegistryTrialStore:
    """Stores each trial of a job at once, under the job's fence.

    Args:
        search_key: See :func:`workers.jobs.tune.search_key`.
        repeated: Inconclusive candidates that are measured again, as
            :func:`workers.jobs.inconclusive.inconclusive_of` describes them; they are the history.
    """

    def __init__(
        self,
        ticket: JobTicket,
        search_key: str,
        target: str,
        repeated: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        self._ticket = ticket
        self._search_key = search_key
        self._target = target
        self._repeated = repeated

    def trials(self) -> Sequence[Trial]:
        """Trials of earlier attempts of this job."""
        return [_trial(row) for row in trials_of_job(self._ticket.job_uuid)]

    def history(self) -> Sequence[Prior]:
        """Measured candidates of earlier jobs with the same key, by ratio."""
        rows = self._repeated
        if rows is None:
            rows = history(self._search_key, exclude_job=self._ticket.job_uuid)
        return [Prior(_candidate(row["candidate"]), row["ratio"], row["tolerance"]) for row in rows]

    def experience(self) -> Sequence[Experience]:
        """Trials of jobs with other keys, newest first."""
        return [_experience(row) for row in experience(self._search_key, self._target)]

    def add(self, trial: Trial) -> None:
        """Store a trial; raises ``LeaseLost``."""
        try:
            trial_add(
                job_uuid=self._ticket.job_uuid,
                fence=self._ticket.fence,
                trial=_row(trial, self._search_key),
            )
        except Conflict as error:
            raise LeaseLost(str(error)) from error


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
        deviation=Deviation(**row["deviation"]) if row["deviation"] else None,
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
