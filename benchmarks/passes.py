"""Compile time saved by selecting compiler passes per class of networks.

``make bench NAME=passes [ARGS="--schedules FOLDER"]``. Networks of four classes are studied as by
the hub. Then each network gets the list that serves the other networks of its class (its own list
if the class has no other), which is compared with the compiler's own pipeline and with the full
list of passes. A list whose code is significantly slower counts as no gain.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calm import wait
from benchmarks.pass_subjects import QUICK, SUBJECTS, Laboratory, NetworkStudy, subjects_of
from benchmarks.report import Figure, environment, geometric_mean, report, say
from hpcfair.measurement.types import Interval
from workers.backends.registry import available
from workers.engine.passes.evaluation import ComparisonEffort
from workers.engine.passes.menu import DEFAULT, PassBackend
from workers.engine.passes.objective import LOSS, Objective, PassComparison
from workers.engine.passes.portfolio import Grouping, NetworkScores, greedy, left_out
from workers.engine.passes.study import StudyBudget
from workers.fleet.probe import this_machine

COMPILERS = ("tvm", "onnxruntime")
CLASSES = ("resnet", "mobilenet", "ssd", "bert")
#: Fraction of compile time cut without loss, and throughput gained on ResNets: Verma et al.,
#: "Towards neural architecture-aware exploration of compiler optimizations in a deep learning
#: {graph} compiler", CF 2022.
PAPER = {"resnet": 0.15, "mobilenet": 0.45, "ssd": 0.54, "bert": 0.92, "resnet_throughput": 0.24}
_BASELINE = (
    "TVM's full list of passes in the same interleaved run; *_default: TVM's own pipeline for "
    "CPUs; *_onnxruntime: ONNX Runtime with all its optimisers"
)
#: Several processes: ratios vary between processes by more than the accepted loss.
_SCREEN = ComparisonEffort(pairs=3, seconds=2.0, sessions=4, half_width=0.02)
_CONFIRM = ComparisonEffort(pairs=4, seconds=2.0, sessions=8, most_sessions=32)
_QUICK = ComparisonEffort(pairs=2, seconds=0.3)
_RESAMPLES = 2000


def main() -> None:
    """Run the studies and comparisons, and report the figures."""
    options = _options()
    here = this_machine().spec
    backends, missing = available(here, ["onnxruntime", *COMPILERS[:1]])
    for reason in missing.values():
        say(reason)
    facts = environment(
        "apache-tvm", "onnxruntime", target=here.slug, tuned=bool(options.schedules),
        quick=options.quick, seconds_per_study=options.seconds, missing=missing,
    )  # fmt: skip
    laboratory = Laboratory(here, backends, options.cache, options.schedules)
    figures: dict[str, Figure] = {}
    lists: dict[str, Any] = {}
    for compiler in options.compilers.split(","):
        if isinstance(backends.get(compiler), PassBackend):
            studies = _study(laboratory, compiler, options)
            chosen = _chosen(laboratory, compiler, studies, options)
            figures |= _figures(compiler, studies, chosen)
            lists[compiler] = {each.subject.name: chosen[each.subject.name] for each in studies}
    _beside_the_paper(figures)
    code = "tuned" if options.schedules else "untuned"
    say(f"TVM's code is {code}; how much a list matters to it depends on that.")
    report("passes", figures, baseline=_BASELINE, environment={**facts, "lists": lists})


def _study(lab: Laboratory, compiler: str, options: argparse.Namespace) -> list[NetworkStudy]:
    subjects = QUICK if options.quick else options.networks
    effort = _QUICK if options.quick else _SCREEN
    # ONNX Runtime opens a session in a tenth of the time that TVM compiles in.
    seconds = options.seconds if compiler == "tvm" else options.seconds / 3
    budget = StudyBudget(seconds, points=16, screen=effort, final=effort)
    studies: list[NetworkStudy] = []
    for subject in subjects:
        if compiler != "tvm" or not subject.heavy or lab.tuned(subject) is not None:
            wait()
            network_study = lab.study(subject, compiler, budget)
            studies += [network_study] if network_study is not None else []
    lists = _pool(studies)
    for each in studies:
        lab.compare(each, compiler, lists, effort)
    return studies


def _pool(studies: Sequence[NetworkStudy]) -> list[str]:
    """The lists that every network tries: each network's best list for compile time. Equal for all
    networks: a class with more measured lists would otherwise have an advantage."""
    lists: list[str] = []
    for each in studies:
        best = min(each.winners, key=lambda trial: trial.comparison.score("compile"), default=None)
        lists += [best.passes] if best and best.comparison.score("compile") < 1 else []
    return list(dict.fromkeys(lists))


def _chosen(
    lab: Laboratory, compiler: str, studies: Sequence[NetworkStudy], options: argparse.Namespace
) -> dict[str, dict[str, str]]:
    """The list of the class per network and objective, confirmed on the network itself."""
    chosen: dict[str, dict[str, str]] = {}
    for each in studies:
        others = [o for o in studies if o.subject.figure == each.subject.figure and o is not each]
        mine = chosen[each.subject.name] = {"chosen on": "others of its class"}
        if not others:
            mine["chosen on"] = "itself"
        for objective in ("compile", "latency"):
            best = greedy(_networks(others or [each], objective), 1)
            # No list serves the class: its networks keep the compiler's own pipeline.
            mine[objective] = best[0] if best else DEFAULT
        wait()
        for value in {mine["compile"], mine["latency"]}:
            lab.confirm(each, compiler, value, _QUICK if options.quick else _CONFIRM)
    return chosen


def _networks(studies: Sequence[NetworkStudy], objective: Objective) -> list[NetworkScores]:
    return [
        NetworkScores(
            each.subject.name,
            each.subject.figure,
            {value: each.comparisons[value, DEFAULT].score(objective) for value in _tried(each)},
        )
        for each in studies
    ]


def _tried(each: NetworkStudy) -> set[str]:
    """Lists that were compared with the compiler's own."""
    return {value for value, against in each.comparisons if against == DEFAULT}


def _figures(
    compiler: str, studies: Sequence[NetworkStudy], chosen: dict[str, dict[str, str]]
) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name in CLASSES:
        members = [each for each in studies if each.subject.figure == name]
        if not members:
            continue
        for against, label in _baselines(compiler, name):
            ratios = []
            for each in members:
                value = chosen[each.subject.name]["compile"]
                comparison = _of(each, value, each.full if against == "full" else DEFAULT)
                ratios.append(_lossless(comparison))
                say(f"{each.subject.name} {compiler} beside {against}: {_summary(comparison)}")
            figures[label] = cut(geometric_mean(ratios))
    for against, label in _baselines(compiler, "resnet_throughput"):
        gains = [
            gain(
                _of(
                    each,
                    chosen[each.subject.name]["latency"],
                    each.full if against == "full" else DEFAULT,
                )
            )
            for each in studies
            if each.subject.figure == "resnet"
        ]
        if gains:
            figures[label] = more(geometric_mean(gains))
    return figures | _falsified(compiler, studies)


def _baselines(compiler: str, name: str) -> list[tuple[str, str]]:
    if compiler == "tvm":
        return [("full", name), ("default", f"{name}_default")]
    return [("default", f"{name}_{compiler}")]


def _falsified(compiler: str, studies: Sequence[NetworkStudy]) -> dict[str, Figure]:
    """Compile time with the list of the network's class, of all others, of shuffled classes. Only
    lists that were tried on every network count."""
    if not studies:
        return {}
    everywhere = set.intersection(*map(_tried, studies))
    networks = [
        replace(network, scores={name: network.scores[name] for name in everywhere})
        for network in _networks(studies, "compile")
    ]
    groupings: tuple[Grouping, ...] = ("class", "global", "shuffled")
    return {
        f"portfolio_{grouping}_{compiler}": _over_networks(
            list(left_out(networks, 1, grouping).values())
        )
        for grouping in groupings
    }


def _over_networks(ratios: Sequence[float]) -> Figure:
    """The geometric mean with a percentile bootstrap over networks."""
    logs = np.log(ratios).astype(np.float64)
    drawn = np.random.default_rng(0).integers(0, len(logs), (_RESAMPLES, len(logs)))
    low, high = np.exp(np.quantile(logs[drawn].mean(axis=1), [0.025, 0.975]))
    return Figure(float(np.exp(logs.mean())), float(low), float(high), "ratio")


def _of(each: NetworkStudy, value: str, against: str) -> PassComparison:
    one = Interval(1.0, 1.0, 1.0)
    if value == against:
        return PassComparison("measured", compile=one, latency=one, same_code=True)
    return each.comparisons.get((value, against), PassComparison("invalid", "not measured"))


def _lossless(comparison: PassComparison) -> Figure:
    """The ratio of compile times; 1 if the code becomes slower and the baseline is kept."""
    if comparison.compile is None or comparison.latency is None or comparison.latency.high > LOSS:
        return Figure(1.0, 1.0, 1.0, "ratio")
    return Figure(
        comparison.compile.value, comparison.compile.low, comparison.compile.high, "ratio"
    )


def gain(comparison: PassComparison) -> Figure:
    """Throughput relative to the other list; 1 if it does not run."""
    if comparison.latency is None:
        return Figure(1.0, 1.0, 1.0, "ratio")
    ratio = comparison.latency
    return Figure(1 / ratio.value, 1 / ratio.high, 1 / ratio.low, "ratio")


def cut(ratio: Figure) -> Figure:
    """A ratio of compile times as a saving."""
    return Figure(1 - ratio.value, 1 - ratio.high, 1 - ratio.low, "of compile time cut")


def more(ratio: Figure) -> Figure:
    """A ratio of throughputs as a gain."""
    return Figure(ratio.value - 1, ratio.low - 1, ratio.high - 1, "more throughput")


def _summary(comparison: PassComparison) -> str:
    if comparison.compile is None or comparison.latency is None:
        return f"{comparison.outcome}: {comparison.detail[:200]}"
    compiling, running = comparison.compile, comparison.latency
    loss = "" if running.high <= LOSS else f": a loss beyond {LOSS - 1:.0%} is not excluded"
    return (
        f"compile {compiling.value:.2f} [{compiling.low:.2f}, {compiling.high:.2f}], "
        f"latency {running.value:.3f} [{running.low:.3f}, {running.high:.3f}]{loss}"
    )


def _beside_the_paper(figures: dict[str, Figure]) -> None:
    say("")
    for name, aim in PAPER.items():
        for label in (name, f"{name}_default", f"{name}_onnxruntime"):
            if label in figures:
                value = figures[label].value
                outcome = "reached" if value >= aim else f"missed by {aim - value:.0%}"
                say(f"{label:<32} {value:>6.0%}  published {aim:.0%}: {outcome}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.passes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="does it run? not to be quoted")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    parser.add_argument("--schedules", type=Path, help="made by benchmarks.pass_schedules")
    parser.add_argument("--networks", type=subjects_of, default=SUBJECTS, help="by default all")
    parser.add_argument("--compilers", default=",".join(COMPILERS), help="of these")
    parser.add_argument("--seconds", type=float, help="of studying one network with TVM")
    options = parser.parse_args()
    options.seconds = options.seconds or (9.0 if options.quick else 240.0)
    return options


if __name__ == "__main__":
    main()
