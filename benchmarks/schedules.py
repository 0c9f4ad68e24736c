"""Learned against random search for schedules, and its result against ONNX Runtime's kernel.

``make bench NAME=schedules [ARGS="--layers layer1 --trials 64 --seeds 3"]``. Convolutions of
ResNet-18 with bias and ReLU, batch 1, as in Learning to Optimize Tensor Programs (arXiv
1805.08166, section 6.1): both searches get the same trials of the same space, in turn, seed by
seed. Their best schedules are timed again, since the first measurement selects by noise.
"""

import argparse
from dataclasses import replace
from math import exp, inf
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.calm import wait
from benchmarks.layers import LIMITS, RESNET18, compiler, workloads, write
from benchmarks.report import Figure, environment, geometric_mean, report, say
from workers.backends.registry import available
from workers.engine.clock import SystemClock
from workers.engine.confirmation import ConfirmationEffort, confirm
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.local import LocalDevice
from workers.engine.ports import PhaseTime
from workers.engine.requests import TuningRequest
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleTask, Winner
from workers.engine.trials import Trial
from workers.engine.types import Candidate, TargetSpec, canonical_json
from workers.fleet.probe import this_machine

_BASELINE = (
    "random search (ReplayTrace) of the same space with as many trials; "
    "onnxruntime.InferenceSession(path) of the same layer"
)
_DEFAULT = ("layer1", "layer2", "layer3")
_RESAMPLES = 2000

#: Layer, then strategy, then seed: seconds of the best after each trial.
Curves = dict[str, dict[str, list[list[float]]]]


def main() -> None:
    """Search, time again, and say it."""
    options = _options()
    here = this_machine().spec
    facts = environment(
        "apache-tvm", "xgboost-cpu", "onnxruntime", target=here.slug, trials=options.trials,
        seeds=options.seeds, layers=options.layers,
    )  # fmt: skip
    curves: Curves = {}
    gains: dict[str, list[float]] = {}
    against: dict[str, Figure] = {}
    refused: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        layers = {name: RESNET18[name] for name in options.layers}
        for name, task in workloads(layers, here, Path(folder)).items():
            curves[name] = {"evolution": [], "random": []}
            gains[name], best = _layer(name, task, here, options, curves[name])
            try:
                against[name] = _against_runtime(name, best, here, folder)
            except (CandidateFailed, WrongOutput) as error:
                refused[name] = str(error)
                say(f"{name}: the build does not count: {error}")
    figures = {"learned_vs_random": _mean_over(gains)}
    if against:
        figures["final_vs_runtime"] = geometric_mean(list(against.values()))
        figures |= {f"final_{name}": figure for name, figure in against.items()}
    facts |= {"refused": refused, "curves_us": _in_us(curves)}
    report("schedules", figures, baseline=_BASELINE, environment=facts)


def _layer(
    name: str,
    task: ScheduleTask,
    target: TargetSpec,
    options: argparse.Namespace,
    curves: dict[str, list[list[float]]],
) -> tuple[list[float], Winner]:
    """Both searches with every seed: random's latency over ours, and the best of them all."""
    gains: list[float] = []
    winners: list[Winner] = []
    for seed in range(options.seeds):
        wait()
        fastest = _both(task, target, seed, options.trials, curves)
        gains.append(fastest["random"].median_s / fastest["evolution"].median_s)
        winners += fastest.values()
        say(
            f"{name}, seed {seed}: learned {_us(fastest['evolution'])} us, "
            f"random {_us(fastest['random'])} us"
        )
    return gains, min(winners, key=lambda winner: winner.median_s)


def _both(
    task: ScheduleTask,
    target: TargetSpec,
    seed: int,
    trials: int,
    curves: dict[str, list[list[float]]],
) -> dict[str, Winner]:
    """One search of each kind, then the best of both timed again in turn."""
    fastest = {}
    for strategy, courses in curves.items():
        store = MemoryScheduleStore([task])
        # The local descent is ours alone, so it takes no part in this comparison.
        budget = ScheduleBudget(seconds=None, trials=trials, patience=10**6, descent=0.0)
        with compiler(target, strategy, seed) as schedule_compiler:
            result = tune_schedules([task], schedule_compiler, store, budget, progress=_say)
        courses.append(_best_so_far(store))
        fastest[strategy] = result.winners[task.key]
    with compiler(target, "random", seed) as schedule_compiler:
        racers = [fastest[strategy].candidate for strategy in curves]
        times = schedule_compiler.race(task, racers, 20)
    return {
        strategy: Winner(winner.candidate, seconds or winner.seconds, winner.trace)
        for (strategy, winner), seconds in zip(fastest.items(), times, strict=True)
    }


def _best_so_far(store: MemoryScheduleStore) -> list[float]:
    """Seconds of the best after each charged trial; infinite before the first that ran."""
    best, curve = inf, []
    for trial in store.own_trials():
        if trial.result.outcome == "measured" and trial.result.median_s is not None:
            best = min(best, trial.result.median_s)
        if trial.result.outcome != "infrastructure":
            curve.append(best)
    return curve


def _against_runtime(name: str, winner: Winner, target: TargetSpec, folder: str) -> Figure:
    """The layer as a network of its own: ONNX Runtime's latency over that of our build."""
    files, scratch = Path(folder) / name, Path(folder) / f"{name}.builds"
    scratch.mkdir()
    network = write({name: RESNET18[name]}, files)
    record = {
        "key": winner.candidate.task,
        "trace": winner.trace,
        "seconds": winner.median_s,
    }
    path = files / "schedules.jsonl"
    path.write_bytes(canonical_json(record) + b"\n")
    network = replace(network, schedules_path=path)
    backends, missing = available(target, ["tvm", "onnxruntime"])
    if "tvm" not in backends:
        raise SystemExit(missing["tvm"])
    request = TuningRequest(network, target, ("tvm",), limits=LIMITS)
    tuned = backends["tvm"].space(network, target).promising[0]
    trial = Trial(0, Candidate("tvm", tuned), "schedules", "measured", 0.0)
    with (
        LocalDevice(request, backends, scratch) as device,
        EvaluationContext(request, backends["onnxruntime"], device, SystemClock()) as context,
    ):
        measured = confirm(
            context, trial, None, ConfirmationEffort(5, 0.02, 30.0)
        ).measurement.ratio
    say(f"{name}: {1 / measured.value:.2f}x of ONNX Runtime's kernel")
    return Figure(1 / measured.value, 1 / measured.high, 1 / measured.low, "ratio")


def _mean_over(gains: dict[str, list[float]]) -> Figure:
    """Geometric mean over layers and seeds; layers and seeds are both drawn anew."""
    chance = np.random.default_rng(0)
    rows = [np.log(values) for values in gains.values()]
    drawn = []
    for _ in range(_RESAMPLES):
        some = [rows[n] for n in chance.integers(0, len(rows), len(rows))]
        drawn.append(np.mean([chance.choice(row, len(row)).mean() for row in some]))
    low, high = np.percentile(drawn, [2.5, 97.5])
    centre = float(np.mean([row.mean() for row in rows]))
    return Figure(exp(centre), exp(float(low)), exp(float(high)), "ratio")


def _us(winner: Winner) -> str:
    return f"{winner.median_s * 1e6:.0f}"


def _in_us(curves: Curves) -> dict[str, dict[str, list[list[float | None]]]]:
    return {
        name: {
            strategy: [[None if s == inf else round(s * 1e6, 1) for s in curve] for curve in seeds]
            for strategy, seeds in both.items()
        }
        for name, both in curves.items()
    }


def _say(
    phase: str,
    done: int,
    total: int | None,
    message: str,
    phase_time: PhaseTime | None = None,  # noqa: ARG001
) -> None:
    if phase == "schedules":
        say(f"  {done} of {total} trials of {message}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", nargs="+", choices=sorted(RESNET18), default=list(_DEFAULT))
    parser.add_argument("--trials", type=int, default=64, help="of each search")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one small layer, few trials")
    options = parser.parse_args()
    if options.quick:
        options.layers, options.trials, options.seeds = ["layer4.down"], 12, 1
    return options


if __name__ == "__main__":
    main()
