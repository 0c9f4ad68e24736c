"""Searches for schedules that start from principles, against searches that do not.

``make bench NAME=principles [ARGS="--find layer1 layer2 --test layer4 --trials 32"]``.
Principles come from random searches and ablations of some convolutions of ResNet-18; both searches
then get the same trials of other ones, in turn, seed by seed, and their best schedules are timed
again side by side. If no statement reaches the bar of a hub, the most supported ones are used, and
``environment.bar`` says so.
"""

import argparse
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.calm import wait
from benchmarks.layers import RESNET18, compiler, workloads
from benchmarks.report import counted, environment, ratio, report, say
from registry.statistics.experience import RevertedDecision, WorkloadTrials
from registry.statistics.principles import TraitFinding, findings
from workers.backends.tvm.tuning.alternatives import reversals
from workers.engine.schedules.ablation import (
    AblationBudget,
    ScheduleAblation,
    ablate,
)
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import (
    ScheduleBudget,
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    Winner,
)
from workers.engine.types import TargetSpec
from workers.fleet.probe import this_machine

_BASELINE = "the same search without principles, with as many trials of the same space"
_ANCHOR = "conv2d_nhwc"
#: A search has reached the best when it is within this factor of it.
_REACHED = 1.05
_MOST_PRINCIPLES = 6


class _Results:
    """An ablation's store in memory; better variants are of no use here."""

    def __init__(self) -> None:
        self.rows: list[ScheduleAblation] = []

    def measured(self) -> Sequence[ScheduleAblation]:
        return ()

    def add(self, ablation: ScheduleAblation) -> None:
        self.rows.append(ablation)

    def offer(self, candidate: ScheduleCandidate, outcome: ScheduleOutcome) -> None:
        """Ignored."""

    def confirm(self, winner: Winner) -> None:
        """Ignored."""


def main() -> None:
    """Find principles, search with and without them, and say it."""
    options = _options()
    here = this_machine().spec
    with TemporaryDirectory() as folder:
        layers = {name: RESNET18[name] for name in (*options.find, *options.test)}
        tasks = workloads(layers, here, Path(folder))
        rows = findings(*_experience({n: tasks[n] for n in options.find}, here, options.samples))
        chosen, is_proven = _chosen(rows)
        for each in chosen:
            say(f"{'+' if each.is_wanted else '-'} {each.trait.words(_ANCHOR)}")
        principles = [
            {"anchor": tasks[options.test[0]].anchor, "trait": each.trait.to_json(),
             "is_wanted": each.is_wanted}
            for each in chosen
        ]  # fmt: skip
        pairs = [
            _pair(tasks[name], here, seed, options.trials, principles)
            for seed in range(options.seeds)
            for name in options.test
        ]
    figures = {
        "trials_to_95_percent": ratio(*zip(*(each["trials"] for each in pairs), strict=True)),
        "after_first_batch": ratio(*zip(*(each["first"] for each in pairs), strict=True)),
        "final": ratio(*zip(*(each["final"] for each in pairs), strict=True)),
        "principles": counted(len(chosen), "principles"),
    }
    facts = environment(
        "apache-tvm", "xgboost-cpu", target=here.slug, find=options.find, test=options.test,
        samples=options.samples, trials=options.trials, seeds=options.seeds,
        bar="proven" if is_proven else "below the bar of a hub",
        principles=[[each.trait.to_json(), each.is_wanted] for each in chosen], pairs=pairs,
    )  # fmt: skip
    report("principles", figures, baseline=_BASELINE, environment=facts)


def _experience(
    tasks: Mapping[str, ScheduleTask], target: TargetSpec, samples: int
) -> tuple[list[WorkloadTrials], list[RevertedDecision]]:
    """Random searches of workloads, and ablations of their best schedules."""
    trials, reverted = [], []
    for name, task in tasks.items():
        wait()
        store = MemoryScheduleStore([task])
        budget = ScheduleBudget(
            seconds=None, trials=samples, enough=samples, patience=10**6, descent=0.0
        )
        with compiler(target, "random", 0) as schedule_compiler:
            result = tune_schedules([task], schedule_compiler, store, budget)
            best, results = result.winners[task.key], _Results()
            own = store.own_trials()
            variants = reversals(best.candidate, own)
            ablate(task, best, variants, schedule_compiler, results, AblationBudget(seconds=None))
        rows = [
            (each.candidate.sketch, each.candidate.decisions, each.result.median_s)
            for each in own
            if each.result.outcome == "measured" and each.result.median_s is not None
        ]
        trials.append(WorkloadTrials(name, task.key, name, target.slug, rows))
        reverted += [_reverted(name, task, best, row) for row in results.rows if _is_clear(row)]
        say(f"{name}: {len(rows)} random schedules, {len(results.rows)} comparisons")
    return trials, reverted


def _is_clear(row: ScheduleAblation) -> bool:
    return row.reversal.position >= 0 and row.result.verdict in {"slower", "faster"}


def _reverted(
    name: str, task: ScheduleTask, best: Winner, row: ScheduleAblation
) -> RevertedDecision:
    interval = row.result.ratio
    assert interval is not None
    return RevertedDecision(
        f"{name} {row.number}", name, task.key, best.candidate.sketch, best.candidate.decisions,
        row.reversal.candidate.decisions, interval.value, interval.low, interval.high,
        is_slower=row.result.verdict == "slower",
    )  # fmt: skip


def _chosen(rows: Sequence[TraitFinding]) -> tuple[list[TraitFinding], bool]:
    """The proven statements, or else those with most support, and whether they are proven."""
    proven = [each for each in rows if each.is_proven]
    if proven:
        return proven, True
    ranked = [each for each in rows if not each.is_contradicted]
    ranked.sort(key=lambda each: -sum(each.evidence["support"][k] for k in _SUPPORT))
    return ranked[:_MOST_PRINCIPLES], False


_SUPPORT = ("workloads", "ablations")


def _pair(
    task: ScheduleTask,
    target: TargetSpec,
    seed: int,
    trials: int,
    principles: Sequence[Mapping[str, Any]],
) -> dict[str, list[float]]:
    """Both searches of a workload: without principles first in even seeds.

    Returns figures as ``[without, with]``: ``trials`` until 5 % above the better one's end,
    seconds of the ``first`` batch's best, and ``final`` seconds, timed again in turns.
    """
    wait()
    kinds = [(), principles] if seed % 2 == 0 else [principles, ()]
    curves: dict[bool, list[float]] = {}
    best: dict[bool, ScheduleCandidate] = {}
    budget = ScheduleBudget(seconds=None, trials=trials, patience=10**6, descent=0.0)
    for followed in kinds:
        store = MemoryScheduleStore([task])
        with compiler(target, "evolution", seed, principles=followed) as schedule_compiler:
            result = tune_schedules([task], schedule_compiler, store, budget)
        curves[bool(followed)] = _best_so_far(store)
        best[bool(followed)] = result.winners[task.key].candidate
    with compiler(target, "random", seed) as schedule_compiler:
        times = schedule_compiler.race(task, [best[False], best[True]], 20)
    goal = _REACHED * min(curve[-1] for curve in curves.values())
    batch = budget.batch
    figures = {
        "trials": [_first_below(curves[each], goal) for each in (False, True)],
        "first": [curves[each][min(batch, len(curves[each])) - 1] for each in (False, True)],
        "final": [sorted(each)[len(each) // 2] for each in times],
    }
    say(f"{task.name}, seed {seed}: {figures}")
    return figures


def _first_below(curve: Sequence[float], goal: float) -> float:
    """Number of trials until a curve is at most ``goal``; one more than it has if never."""
    return float(next((n for n, s in enumerate(curve, 1) if s <= goal), len(curve) + 1))


def _best_so_far(store: MemoryScheduleStore) -> list[float]:
    """Seconds of the best after each charged trial; infinite before the first that ran."""
    best, curve = inf, []
    for trial in store.own_trials():
        if trial.result.outcome == "measured" and trial.result.median_s is not None:
            best = min(best, trial.result.median_s)
        if trial.result.outcome != "infrastructure":
            curve.append(best)
    return curve


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    layers = sorted(RESNET18)
    parser.add_argument("--find", nargs="+", choices=layers, default=["layer1", "layer2", "layer3"])
    parser.add_argument("--test", nargs="+", choices=layers, default=["layer4", "layer2.0"])
    parser.add_argument("--samples", type=int, default=128, help="random schedules of each layer")
    parser.add_argument("--trials", type=int, default=32, help="of each search")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small layers, few trials")
    options = parser.parse_args()
    if options.quick:
        options.find, options.test = ["layer4.down", "layer3.down", "layer2.down"], ["layer3"]
        options.samples, options.trials, options.seeds = 48, 16, 2
    return options


if __name__ == "__main__":
    main()
