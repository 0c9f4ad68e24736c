"""Savings by stored schedules: trials on a new workload, and time on a second network.

``make bench NAME=transfer [ARGS="--trials 48 --seeds 2"]``. Convolutions of ResNet-18, batch 1.
``schedule``: each layer is searched without stored trials, then with those of the other layers. The
figure compares the trials until 1.05 times the best latency without. The best-so-far schedules of
both searches are timed again, all of a layer in turns, since single timings that are minutes apart
are not comparable.
``repeat``: two networks that share three of four layers are tuned one after the other.
"""

import argparse
from collections.abc import Mapping, Sequence
from math import exp, inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

from benchmarks.calm import wait
from benchmarks.layers import RESNET18, compiler, workloads
from benchmarks.report import Figure, counted, environment, report, say
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleTask, ScheduleTrial
from workers.engine.types import TargetSpec
from workers.fleet.probe import this_machine

_BASELINE = "the same search without a memory"
_FIRST = ("layer1", "layer2", "layer3", "layer4")
_SECOND = ("layer1", "layer2", "layer3", "layer3.0")
#: Factor of the best latency without stored trials that counts as reaching it.
_NEAR = 1.05
#: Turns in which the best-so-far schedules are timed again.
_TURNS = 15
_RESAMPLES = 2000


def main() -> None:
    """Search with and without stored trials, and report the savings."""
    options = _options()
    here = this_machine().spec
    facts = environment(
        "apache-tvm", "xgboost-cpu", target=here.slug, trials=options.trials, seeds=options.seeds,
        layers=options.layers, enough=options.enough,
    )  # fmt: skip
    names = dict.fromkeys((*options.layers, *options.first, *options.second))
    with TemporaryDirectory() as folder:
        tasks = workloads({name: RESNET18[name] for name in names}, here, Path(folder))
    selected = {name: tasks[name] for name in options.layers}
    counts = [_trials_to(selected, here, seed, options.trials) for seed in range(options.seeds)]
    facts["trials_to_latency"] = counts
    first = [tasks[name] for name in options.first]
    second = [tasks[name] for name in options.second]
    seconds = _repeat(first, second, here, options.enough)
    facts["seconds"] = seconds
    figures = {
        "schedule": _saved(counts),
        "repeat": counted(seconds["second"] / seconds["first"], "ratio"),
    }
    report("transfer", figures, baseline=_BASELINE, environment=facts)


def _trials_to(
    tasks: dict[str, ScheduleTask], target: TargetSpec, seed: int, trials: int
) -> dict[str, dict[str, int]]:
    """Trials until the latency, of each layer, with and without the others' trials."""
    cold = {name: _search(task, target, seed, trials, ()) for name, task in tasks.items()}
    counts = {}
    for name, task in tasks.items():
        others = [
            (tasks[other], trials_of_other)
            for other, trials_of_other in cold.items()
            if other != name
        ]
        warm = _search(task, target, seed, trials, others)
        best = {"without": incumbents(cold[name]), "with": incumbents(warm)}
        wait()
        with compiler(target, "random", seed) as schedule_compiler:
            racers = [trial.candidate for best_so_far in best.values() for _, trial in best_so_far]
            seconds = schedule_compiler.race(task, racers, _TURNS)
        if not all(seconds):
            raise SystemExit(f"{name}: its fastest schedules do not run again")
        again = iter(seconds)
        timed = {
            how: [(place, median(next(again))) for place, _ in best_so_far]
            for how, best_so_far in best.items()
        }
        counts[name] = trials_to(timed, trials)
        say(f"{name}, seed {seed}: {counts[name]['without']} trials, {counts[name]['with']} with")
    return counts


def incumbents(trials: Sequence[ScheduleTrial]) -> list[tuple[int, ScheduleTrial]]:
    """Trials that were the fastest so far, each with its place in the search, from 1."""
    best_so_far: list[tuple[int, ScheduleTrial]] = []
    for place, trial in enumerate(trials, 1):
        if _seconds(trial) < (_seconds(best_so_far[-1][1]) if best_so_far else inf):
            best_so_far.append((place, trial))
    return best_so_far


def trials_to(timed: Mapping[str, Sequence[tuple[int, float]]], trials: int) -> dict[str, int]:
    """Trials per search until :data:`_NEAR` times the best ``without``; ``trials + 1`` if never.
    ``timed``: by search, positions and times of the best-so-far schedules."""
    goal = _NEAR * min(seconds for _, seconds in timed["without"])
    return {
        how: next((place for place, seconds in points if seconds <= goal), trials + 1)
        for how, points in timed.items()
    }


def _search(
    task: ScheduleTask,
    target: TargetSpec,
    seed: int,
    trials: int,
    memory: Sequence[tuple[ScheduleTask, list[ScheduleTrial]]],
) -> list[ScheduleTrial]:
    wait()
    store = _Remembering([task, *(other for other, _ in memory)])
    for _, prior in memory:
        for trial in prior:
            store.remember(trial)
    budget = ScheduleBudget(seconds=None, trials=trials, patience=10**6, descent=0.0)
    with compiler(target, "evolution", seed) as schedule_compiler:
        tune_schedules([task], schedule_compiler, store, budget)
    return [trial for trial in store.own_trials() if trial.result.outcome != "infrastructure"]


def _repeat(
    first: list[ScheduleTask], second: list[ScheduleTask], target: TargetSpec, enough: int
) -> dict[str, float]:
    """Seconds of the searches of two networks, the second with the trials of the first."""
    store = _Remembering([*first, *second])
    budget = ScheduleBudget(seconds=None, enough=enough, descent=0.0)
    spent = {}
    for name, tasks in (("first", first), ("second", second)):
        started = monotonic()
        with compiler(target, "evolution", 0) as schedule_compiler:
            tune_schedules(tasks, schedule_compiler, store, budget)
        spent[name] = round(monotonic() - started, 3)
        say(f"{name} network: {spent[name]:.0f} s")
        store.end()
    return spent


class _Remembering(MemoryScheduleStore):
    """A store that separates trials of earlier searches from a search's own."""

    def __init__(self, tasks: list[ScheduleTask]) -> None:
        super().__init__(tasks)
        self._own: list[ScheduleTrial] = []

    def own(self) -> list[ScheduleTrial]:
        return list(self._own)

    def add(self, trial: ScheduleTrial) -> None:
        super().add(trial)
        self._own.append(trial)

    def remember(self, trial: ScheduleTrial) -> None:
        """Add a trial of an earlier search."""
        super().add(trial)

    def end(self) -> None:
        """Begin another search."""
        self._own.clear()


def _seconds(trial: ScheduleTrial) -> float:
    measured = trial.result.outcome == "measured" and trial.result.median_s is not None
    return trial.result.median_s or inf if measured else inf


def _saved(counts: list[dict[str, dict[str, int]]]) -> Figure:
    """Geometric mean of trials without over with stored ones; bootstrap over layers and seeds."""
    logs = np.asarray(
        [np.log(c["without"] / c["with"]) for by_layer in counts for c in by_layer.values()]
    )
    chance = np.random.default_rng(0)
    drawn = logs[chance.integers(0, len(logs), (_RESAMPLES, len(logs)))].mean(axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Figure(exp(float(logs.mean())), exp(float(low)), exp(float(high)), "ratio")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", nargs="+", choices=sorted(RESNET18), default=list(RESNET18))
    parser.add_argument("--trials", type=int, default=48, help="of each search")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--enough", type=int, default=16, help="trials of a workload, for repeat")
    parser.add_argument("--quick", action="store_true", help="two small layers, few trials")
    options = parser.parse_args()
    options.first, options.second = _FIRST, _SECOND
    if options.quick:
        options.layers, options.trials, options.seeds = ["layer4.down", "layer3.down"], 8, 1
        options.enough = 8
        options.first, options.second = ("layer4.down",), ("layer4.down", "layer3.down")
    return options


if __name__ == "__main__":
    main()
