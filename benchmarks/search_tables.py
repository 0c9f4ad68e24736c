"""Measure the tables that ``benchmarks.search`` replays: ``python -m benchmarks.search_tables``.

Every configuration of every backend's space is built, checked and measured once by the tuner's own
protocol, including its pruning. The best of each problem are then confirmed in fresh processes,
since the smallest of many noisy ratios is too optimistic. Needs a quiet machine for about five
minutes per network. Measurements are stored: an interrupted run continues.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.calm import wait
from benchmarks.networks import example
from benchmarks.replay import PROBLEMS
from benchmarks.report import environment, say
from benchmarks.tables import FOLDER, Row, Table, write
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.backends.normalform import NORMALISER
from workers.backends.registry import available
from workers.engine.clock import Clock, SystemClock
from workers.engine.confirmation import ConfirmationEffort, confirm
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation import Bar, evaluate
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.local import LocalDevice
from workers.engine.ports import Backend, Device
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.space import Space
from workers.engine.strategies import Proposal
from workers.engine.trial_store import JsonLinesTrialStore
from workers.engine.trials import Trial
from workers.engine.types import Candidate, Network, TargetSpec
from workers.fleet.probe import this_machine

#: Networks with their families, which are left out as a whole in replays.
MODELS = {
    "digits": "small",
    "digits_mlp": "small",
    "squeezenet": "squeezenet",
    "shufflenet": "depthwise",
    "mobilenetv2": "depthwise",
    "resnet18": "residual",
    "bert_small": "transformer",
    "inception_v1": "inception",
    "ssd_mobilenet": "detection",
}
BACKENDS = ("onnxruntime", "openvino")
_BUDGET = SearchBudget(seconds=None, trials=None, seconds_per_measurement=2.5, half_width=0.02)
#: Candidates to confirm: within this factor of the best of each problem; and processes of each.
_NEAR, _MOST, _PROCESSES = 1.08, 6, 2
#: Configurations between two checks of the machine's load.
_CALM_EVERY = 10


@dataclass(frozen=True, slots=True)
class Study:
    """The inputs of a table: a network, its family, its backends and spaces."""

    model: str
    family: str
    request: TuningRequest
    backends: dict[str, Backend]
    spaces: dict[str, Space]

    @property
    def candidates(self) -> list[Candidate]:
        return [Candidate(n, o) for n, space in self.spaces.items() for o in space.enumerate()]

    @property
    def defaults(self) -> list[Candidate]:
        """The default of each backend; the baseline's first."""
        network, target = self.request.network, self.request.target
        names = [self.request.reference_backend, *self.request.backends]
        return [
            Candidate(n, self.backends[n].default(network, target)) for n in dict.fromkeys(names)
        ]


def main() -> None:
    options = _options()
    target = this_machine().spec
    backends, missing = available(target, options.backends)
    for reason in missing.values():
        say(reason)
    options.cache.mkdir(parents=True, exist_ok=True)
    for model in options.models:
        network = example(model, options.cache)
        study = study_of(model, MODELS.get(model, model), network, target, backends)
        store = JsonLinesTrialStore(options.cache / f"{model}.trials.jsonl")
        with (
            tempfile.TemporaryDirectory(prefix="hpcfair-tables-") as scratch,
            LocalDevice(study.request, backends, Path(scratch)) as device,
        ):
            table = measured(study, device, store, SystemClock())
        say(f"{model}: {write(table, options.out)}")


def study_of(
    model: str, family: str, network: Network, target: TargetSpec, backends: dict[str, Backend]
) -> Study:
    """The study of a network; the first backend is reference and baseline."""
    first = next(iter(backends))
    request = TuningRequest(
        network,
        target,
        tuple(backends),
        _BUDGET,
        reference_backend=first,
        normaliser=NORMALISER,
    )
    spaces = {name: backend.space(network, target) for name, backend in backends.items()}
    return Study(model, family, request, backends, spaces)


def measured(study: Study, device: Device, store: JsonLinesTrialStore, clock: Clock) -> Table:
    """The table; trials in the store are not repeated. Raises ReferenceFailed if the network does
    not run."""
    request = study.request
    with EvaluationContext(
        request, study.backends[request.reference_backend], device, clock
    ) as context:
        _try_all(study, context, store)
        again = _again(context, store.trials(), _say_for(study.model))
    network, target = request.network, request.target
    return Table(
        model=study.model,
        family=study.family,
        architecture_class=network.architecture_class,
        embedding=network.embedding,
        target=target.slug,
        features=tuple(sorted(target.features)),
        spaces=study.spaces,
        defaults=tuple(study.defaults),
        rows=tuple(_row(trial, again) for trial in _last(store.trials())),
        facts=environment("onnxruntime", "openvino", "nncf", measured_again=len(again)),
    )


def _try_all(study: Study, context: EvaluationContext, store: JsonLinesTrialStore) -> None:
    done = {t.candidate.sha256 for t in store.trials() if t.outcome != "infrastructure"}
    left = [c for c in study.candidates if c.sha256 not in done]
    started = time.monotonic()
    for at, candidate in enumerate(left):
        if at % _CALM_EVERY == 0:
            wait()
        if at:
            eta_min = (time.monotonic() - started) / at * (len(left) - at) / 60
            options = " ".join(f"{name}={value}" for name, value in candidate.options.items())
            say(f"{study.model} {at}/{len(left)}, {eta_min:.0f} min: {candidate.backend} {options}")
        number = len(store.trials())
        judged = evaluate(context, number, Proposal(candidate, "table"), lambda _: Bar(1.0, inf))
        store.add(judged.trial)
        if judged.trial.build is not None and judged.trial.build.directory is not None:
            context.device.discard(judged.trial.build)


def _again(
    context: EvaluationContext, trials: Sequence[Trial], tell: Callable[[str], None]
) -> dict[str, float]:
    """Confirmed ratios of the best of each problem, by candidate."""
    ratios: dict[str, float] = {}
    effort = ConfirmationEffort(_PROCESSES, _BUDGET.half_width, 60.0)
    for problem in PROBLEMS:
        for trial in _nearly_best(trials, problem):
            if trial.candidate.sha256 in ratios:
                continue
            tell(f"again: {trial.candidate.as_dict()}, was {trial.ratio:.3f}")
            try:
                result = confirm(context, trial, None, effort)
            except (CandidateFailed, WrongOutput) as error:
                tell(f"failed this time: {error}")
                continue
            ratios[trial.candidate.sha256] = result.measurement.ratio.value
            context.device.discard(result.build)
    return ratios


def _nearly_best(trials: Sequence[Trial], problem: Tolerance) -> list[Trial]:
    accepted = TOLERANCES[: TOLERANCES.index(problem) + 1]
    able = [t for t in trials if t.outcome == "measured" and t.tolerance in accepted]
    ordered = sorted((t.ratio, t.number, t) for t in able if t.ratio is not None)
    return [trial for ratio, _, trial in ordered[:_MOST] if ratio <= _NEAR * ordered[0][0]]


def _last(trials: Sequence[Trial]) -> list[Trial]:
    return list({t.candidate.sha256: t for t in trials}.values())


def _row(trial: Trial, again: dict[str, float]) -> Row:
    ratio = again.get(trial.candidate.sha256, trial.ratio)
    is_ranked = trial.outcome in {"measured", "pruned"}
    return Row(
        trial.candidate,
        trial.outcome,
        trial.tolerance,
        ratio if is_ranked else None,
        trial.duration_s,
    )


def _say_for(model: str) -> Callable[[str], None]:
    return lambda text: say(f"{model} {text}")


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--backends", nargs="+", default=list(BACKENDS))
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the tables go")
    parser.add_argument(
        "--cache", type=Path, default=Path(".bench/search"), help="models, and trials so far"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
