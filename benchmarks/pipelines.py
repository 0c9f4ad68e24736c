"""Gain of tuned code by the hub's pipeline, compared with code tuned for TVM's own lists.

``make bench NAME=pipelines``. Schedules of each network are searched three times, equally long: for
TVM's own pipeline for CPUs, for its full list of passes, and for the pipeline of the hub. Then the
last is compared with the other two, each side with its own schedules: latency interleaved in one
run, compilation interleaved in one process.
"""

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarks.calm import wait
from benchmarks.pass_subjects import Laboratory, Subject, subjects_of
from benchmarks.passes import cut, gain, more
from benchmarks.report import Figure, environment, geometric_mean, report, say
from benchmarks.scheduling import stored_schedules, with_schedules
from hpcfair.measurement.types import Interval
from workers.backends.registry import available
from workers.backends.tvm.passes import DEFAULT, FULL, option_of
from workers.backends.tvm.space import passes_for_tuning
from workers.engine.passes.evaluation import ComparisonEffort
from workers.engine.passes.objective import PassComparison
from workers.fleet.probe import this_machine

#: Explicit: elsewhere the default list depends on the network.
_BASELINES = {"default": option_of(DEFAULT), "full": option_of(FULL)}
_BASELINE = "TVM's own pipeline for CPUs, and its full list of passes, each tuned as long"
_EFFORT = ComparisonEffort(pairs=3, seconds=4.0, sessions=12)


def main() -> None:
    """Search, compare, report the figures."""
    options = _options()
    here = this_machine().spec
    backends, missing = available(here, ["onnxruntime", "tvm"])
    for reason in missing.values():
        say(reason)
    laboratory = Laboratory(here, backends, options.cache)
    options.schedules.mkdir(parents=True, exist_ok=True)
    by_subject = {
        subject: _compared(laboratory, subject, options.schedules, options.seconds)
        for subject in options.networks
    }
    facts = environment(
        "apache-tvm", target=here.slug, seconds_per_search=options.seconds, missing=missing
    )
    facts["networks"] = {
        subject.name: {against: _summary(comparison) for against, comparison in each.items()}
        for subject, each in by_subject.items()
    }
    report("pipelines", _figures(by_subject), baseline=_BASELINE, environment=facts)


def _compared(
    lab: Laboratory, subject: Subject, folder: Path, seconds: float
) -> dict[str, PassComparison]:
    network = subject.make(lab.cache)
    ours = passes_for_tuning(network)
    # The hub's own under the network's name, as benchmarks.pass_schedules keeps it.
    names = {"": subject.name, **{passes: f"{subject.name}.{passes}" for passes in _BASELINES}}
    stores = [
        stored_schedules(name, network, lab.target, seconds, folder / f"{name}.jsonl", passes)
        for passes, name in names.items()
    ]
    # A schedule states its loops, so one file may serve several pipelines.
    merged = folder / f"{subject.name}.all"
    merged.write_bytes(b"".join(path.read_bytes() for path in stores if path))
    wait()
    with lab.evaluator(with_schedules(network, merged), "tvm") as (evaluator, _):
        return {
            name: evaluator.compare(ours, _EFFORT, against) for name, against in _BASELINES.items()
        }


def _figures(by_subject: Mapping[Subject, Mapping[str, PassComparison]]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name in dict.fromkeys(subject.figure for subject in by_subject):
        members = [each for subject, each in by_subject.items() if subject.figure == name]
        for against in _BASELINES:
            comparisons = [each[against] for each in members if each[against].latency]
            if comparisons:
                compiling = geometric_mean([_ratio(each.compile) for each in comparisons])
                figures[f"{name}_{against}"] = more(geometric_mean(list(map(gain, comparisons))))
                figures[f"{name}_{against}_compile"] = cut(compiling)
    return figures


def _ratio(interval: Interval | None) -> Figure:
    assert interval is not None  # what ran was compiled
    return Figure(interval.value, interval.low, interval.high, "ratio")


def _summary(comparison: PassComparison) -> dict[str, object]:
    return {
        "outcome": comparison.outcome,
        "detail": comparison.detail[:200],
        "latency": asdict(comparison.latency) if comparison.latency else None,
        "compile": asdict(comparison.compile) if comparison.compile else None,
        "compile_s": comparison.compile_s,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.pipelines", description=__doc__)
    parser.add_argument("--networks", type=subjects_of, default=subjects_of("resnet18,resnet50"))
    parser.add_argument("--seconds", type=float, default=200.0, help="of each search")
    parser.add_argument("--schedules", type=Path, default=Path(".bench/pass-schedules"))
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
