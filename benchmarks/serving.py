"""One model of the benchmark ``served``: search, then measurement of the selected builds."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.calm import undisturbed, wait
from benchmarks.networks import backends_for
from benchmarks.report import commit, say
from benchmarks.scheduling import stored_schedules, with_schedules
from benchmarks.served_figures import CLASSES, best_within, speedup_of
from benchmarks.served_queries import query_builds
from workers.backends.normalform import NORMALISER
from workers.backends.openbatch import BATCH_OPENER
from workers.engine.clock import Clock, SystemClock
from workers.engine.confirmation import ConfirmationEffort, ConfirmedResult, confirm
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import Backend, Device, PhaseTime, Progress, TrialStore
from workers.engine.queries.device import LocalBatchDevice
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.search_result import SearchResult
from workers.engine.trial_store import JsonLinesTrialStore
from workers.engine.trials import Experience, Trial
from workers.engine.tune import tune
from workers.engine.types import Network, TargetSpec
from workers.fleet.energy import counters_of


@dataclass(slots=True)
class SearchSetup:
    """The setup of all searches.

    Attributes:
        missing: Other backends with the reason why they are not available.
        budget_s: Of the search of one model.
        processes: Fresh processes per side in the last measurement.
        reference: Backend whose defaults are the baseline.
        schedules_s: Budget of the search of operator schedules before; 0 for none.
        experience: Results of the searches so far. Copies for single networks share it.
    """

    target: TargetSpec
    backends: dict[str, Backend]
    missing: dict[str, str]
    budget_s: float
    processes: int
    reference: str = "onnxruntime"
    schedules_s: float = 0.0
    experience: list[Experience] = field(default_factory=list)

    @property
    def features(self) -> frozenset[str]:
        return self.target.features

    def toolchain(self) -> dict[str, dict[str, str]]:
        return {name: backend.probe(self.target) for name, backend in self.backends.items()}

    def request(self, network: Network) -> TuningRequest:
        """The request of a search of ``network``."""
        return TuningRequest(
            network,
            self.target,
            tuple(self.backends),
            budget=SearchBudget(
                seconds=self.budget_s,
                trials=None,
                patience=None,
                seconds_per_measurement=min(4.0, max(1.0, self.budget_s / 30)),
                confirmation_seconds=self.budget_s / 2,
            ),
            reference_backend=self.reference,
            normaliser=NORMALISER,
            batch_opener=BATCH_OPENER,
        )

    def remember(self, network: Network, trials: Sequence[Trial]) -> None:
        """Add trials to the experience of later searches, without disturbed ones."""
        self.experience += [
            Experience(
                candidate=trial.candidate,
                outcome=trial.outcome,
                tolerance=trial.tolerance,
                ratio=trial.ratio,
                network=network.graph_hash,
                architecture_class=network.architecture_class,
                embedding=network.embedding,
                target=self.target.slug,
                features=self.target.features,
                seconds=trial.duration_s,
            )
            for trial in trials
            if trial.outcome != "infrastructure" and not _is_disturbed(trial)
        ]


def _is_disturbed(trial: Trial) -> bool:
    measurement = trial.measurement
    return measurement is not None and bool(measurement.quality.get("disturbed"))


def add_stored_trials(name: str, network: Network, folder: Path, setup: SearchSetup) -> None:
    """Add the stored trials of the network ``name`` to the experience."""
    setup.remember(network, JsonLinesTrialStore(_trials_file(folder, name)).trials())


def search_and_measure(
    name: str, network: Network, folder: Path, setup: SearchSetup
) -> dict[str, Any]:
    """Search the network ``name`` and measure the selected builds.

    Returns:
        JSON; ``classes`` holds the served build for each of :data:`CLASSES` that applies. Trials
        are stored in ``folder``, from which an interrupted search continues.
    """
    started = perf_counter()
    fitting = backends_for(network, setup.backends)
    setup = replace(setup, backends={each: setup.backends[each] for each in fitting})
    if setup.schedules_s and "tvm" in setup.backends:
        path = folder / f"{name}.schedules"
        schedules = stored_schedules(name, network, setup.target, setup.schedules_s, path)
        network = with_schedules(network, schedules)
    wait()
    request, counters = setup.request(network), counters_of(setup.target)
    store = JsonLinesTrialStore(_trials_file(folder, name), (), setup.experience)
    with (
        tempfile.TemporaryDirectory(prefix="hpcfair-bench-") as scratch,
        LocalBatchDevice(request, setup.backends, Path(scratch), counters) as device,
    ):
        # As a hub does: what cannot build the network costs no trial.
        usable = (each for each in request.backends if not device.fault_of(each))
        request = replace(request, backends=tuple(usable))
        served = search(request, setup, device, store, SystemClock(), _Progress(name))
    return {**served, "seconds": perf_counter() - started}


def search(
    request: TuningRequest,
    setup: SearchSetup,
    device: Device,
    store: TrialStore,
    clock: Clock,
    progress: Progress,
) -> dict[str, Any]:
    """Search on ``device``, measure the selected builds, add the trials to ``setup``."""
    result = tune(request, setup.backends, device, store, clock=clock, progress=progress)
    progress("again", 0, None, f"{len(result.trials)} trials, {result.stop_reason}")
    served = _served(request, setup, device, clock, result)
    served |= query_builds(request, setup.backends, device, clock, progress, result, setup.budget_s)
    setup.remember(request.network, result.trials)
    return {
        "class": request.network.architecture_class,
        "commit": commit(),
        "trials": len(result.trials),
        "ended": result.stop_reason,
        "reference_accuracy": result.reference_accuracy,
        "outcomes": dict(Counter(f"{t.candidate.backend} {t.outcome}" for t in result.trials)),
        "classes": served,
        "int8_measured": _fastest_int8(result.trials),
    }


def _fastest_int8(trials: Sequence[Trial]) -> dict[str, Any] | None:
    """The fastest int8 build with known accuracy, whether or not it is served."""
    candidates = [
        (trial.ratio, trial.number, trial)
        for trial in trials
        if trial.outcome in {"measured", "pruned"}
        and trial.tolerance == "int8"
        and trial.ratio is not None
        and trial.accuracy is not None
    ]
    if not candidates:
        return None
    ratio, _, trial = min(candidates)
    return {**trial.candidate.as_dict(), "speedup": 1 / ratio, "accuracy": trial.accuracy}


def _served(
    request: TuningRequest, setup: SearchSetup, device: Device, clock: Clock, result: SearchResult
) -> dict[str, dict[str, Any]]:
    """The served builds by figure, measured again: a search's smallest ratio is biased."""
    has_labels = result.reference_accuracy is not None
    chosen = {
        name: best_within(result, accepted)
        for name, accepted in CLASSES.items()
        if has_labels or accepted.points_lost is None
    }
    effort = ConfirmationEffort(setup.processes, 0.01, max(20.0, setup.budget_s / 2))
    measured: dict[str, dict[str, Any]] = {}
    reference = setup.backends[request.reference_backend]
    with EvaluationContext(request, reference, device, clock) as context:
        for best in chosen.values():
            identity = best.trial.candidate.sha256
            if identity in measured:
                continue
            if best.trial.candidate == context.baseline:
                # The baseline itself has ratio 1 and needs no measurement.
                measured[identity] = _described(best) | {"speedup": 1.0, "low": 1.0, "high": 1.0}
                continue
            try:
                again = undisturbed(partial(confirm, context, best.trial, best.build, effort))
            except (CandidateFailed, WrongOutput) as error:
                say(f"{best.trial.candidate.backend} did not work again: {error}")
                fallen = _described(result.baseline) | {"failed": _described(best)}
                measured[identity] = fallen | {"speedup": 1.0, "low": 1.0, "high": 1.0}
            else:
                # The builds of all classes were compared by what the search confirmed.
                choice = {"search_ratio": best.trial.ratio, "confirmed": speedup_of(best)}
                measured[identity] = _described(again) | choice
    return {name: measured[best.trial.candidate.sha256] for name, best in chosen.items()}


def _described(confirmed: ConfirmedResult) -> dict[str, Any]:
    return {
        **confirmed.trial.candidate.as_dict(),
        **speedup_of(confirmed),
        "verdict": confirmed.measurement.verdict,
        "tolerance": confirmed.build.tolerance,
        "candidate_ms": confirmed.measurement.candidate_p50_ns / 1e6,
        "baseline_ms": confirmed.measurement.baseline_p50_ns / 1e6,
        "compile_s": confirmed.build.compile_s,
        "precisions": confirmed.build.provenance.get("precisions"),
        "deviation": asdict(confirmed.output_check.deviation),
        "accuracy": confirmed.output_check.accuracy,
        "rounds": len(confirmed.measurement.blocks),
        "quality": confirmed.measurement.quality,
        "measurement": asdict(confirmed.measurement),
    }


def _trials_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.jsonl"


class _Progress:
    """Reports each trial, and waits until the machine is quiet, uncharged to the budget."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(
        self,
        phase: str,
        done: int,
        total: int | None,  # noqa: ARG002
        message: str,
        phase_time: PhaseTime | None = None,  # noqa: ARG002
    ) -> None:
        wait(probes=1)
        say(f"{self._name}: {phase} {done} {message}")
