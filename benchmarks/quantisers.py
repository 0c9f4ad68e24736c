"""Speed of our builds relative to those of other quantisation tools, within the same limits.

``make bench NAME=quantisers [ARGS="--models digits,squeezenet"]``. Each tool quantises the
published networks in an environment of its own, with the samples that our builds are calibrated
with; the engine searches them as on a hub. All builds are checked alike, and each tool's fastest
build within a limit is measured beside ours in fresh processes.

An interrupted run continues; ``--fresh`` starts again.
"""

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.calm import wait
from benchmarks.networks import example
from benchmarks.quantisation.comparison import CheckedBuild, Comparison, fastest, names_of
from benchmarks.quantisation.tools import TOOLS, ToolBuild, builds_of, described
from benchmarks.report import (
    Figure,
    counted,
    environment,
    geometric_mean,
    report,
    say,
    spread,
)
from benchmarks.searchoptions import SearchOptions
from benchmarks.served_figures import CLASSES, best_within
from benchmarks.serving import SearchSetup
from workers.backends import registry
from workers.engine.clock import SystemClock
from workers.engine.errors import BaselineFailed, CandidateFailed, ReferenceFailed
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.local import LocalDevice
from workers.engine.search_result import SearchResult
from workers.engine.trial_store import JsonLinesTrialStore
from workers.engine.tune import tune
from workers.engine.types import Network, sha256_of
from workers.fleet.energy import counters_of
from workers.fleet.probe import this_machine

MODELS = ("digits", "squeezenet", "mobilenetv2", "bert_small", "resnet50")
QUICK = ("digits",)
#: Of the benchmark ``served``; the second needs labels.
FIGURES = ("within_1_percent", "within_half_point")
_BASELINE = (
    "the fastest build of each tool within the limit, or onnxruntime.InferenceSession(path) where "
    "that is faster, interleaved with ours"
)
#: Version of stored results; increased when older ones become unreadable or incomparable.
_RESULTS = 2
_SAME: dict[str, Any] = {"value": 1.0, "low": 1.0, "high": 1.0}


def main() -> None:
    """Quantise, search, measure, report the figures."""
    options = _options()
    here = this_machine(None).spec
    backends, missing = registry.available(here, options.backends, formats={"onnx"})
    reference = registry.reference_for(here)
    setup = SearchSetup(here, backends, missing, options.budget, options.processes, reference)
    key = {
        "target": here.slug, "cores": here.cores, "toolchain": setup.toolchain(),
        "budget": options.budget, "processes": options.processes, "results": _RESULTS,
        "tools": {name: asdict(tool) for name, tool in TOOLS.items()},
    }  # fmt: skip
    folder = (options.cache / "quantisers" / sha256_of(key)[:16]).resolve()
    if options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    models: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    for name in options.models:
        try:
            models[name] = _once(folder / name, name, example(name, options.cache), setup)
        except (CandidateFailed, BaselineFailed, ReferenceFailed) as error:
            problems[name] = str(error)
            say(f"{name} is left out: {error}")
    facts = environment("onnxruntime", "openvino", "nncf", "apache-tvm", target=here.slug)
    facts |= {"tools": {name: tool.requirements for name, tool in TOOLS.items()}}
    facts |= {"budget_s": options.budget, "processes": options.processes, "left_out": problems}
    report("quantisers", figures_of(models), baseline=_BASELINE, environment=facts, details=models)


def figures_of(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    """The figures of the models' results."""
    figures: dict[str, Figure] = {}
    for tool in TOOLS:
        for name in FIGURES:
            pairs = [m["compared"][name][tool] for m in models.values() if name in m["compared"]]
            if not pairs:
                continue
            ratios = [Figure(p["value"], p["low"], p["high"], "ratio") for p in pairs]
            figures[f"{tool}_{name}"] = geometric_mean(ratios)
            figures[f"{tool}_{name}_least"] = min(ratios, key=lambda figure: figure.value)
            unquantised = sum(pair["is_default"] for pair in pairs)
            figures[f"{tool}_{name}_default"] = counted(unquantised, "models")
        if models:
            seconds = [sum(b["seconds"] for b in m["tools"][tool]) for m in models.values()]
            figures[f"{tool}_seconds"] = spread(seconds, "s")
    if models:
        figures["ours_seconds"] = spread([m["search"]["seconds"] for m in models.values()], "s")
    figures["models"] = counted(len(models), "models")
    return figures


def _once(folder: Path, name: str, network: Network, setup: SearchSetup) -> dict[str, Any]:
    """Results of a model, from an earlier run or measured now."""
    path = folder / "result.json"
    if not path.exists():
        say(f"{name}: the tools' builds")
        builds = [build for tool in TOOLS for build in builds_of(tool, network, folder)]
        result = _search_and_compare(folder, name, network, setup, builds)
        # Written atomically: a run may be interrupted at any moment.
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(result, allow_nan=False))
        draft.rename(path)
    document: dict[str, Any] = json.loads(path.read_text())
    for figure, pairs in document["compared"].items():
        for tool, pair in pairs.items():
            spread_of = f"{pair['value']:.2f} [{pair['low']:.2f}, {pair['high']:.2f}]"
            say(f"{name} {figure}: {tool} over ours {spread_of} ({pair['theirs']})")
    return document


def _search_and_compare(
    folder: Path, name: str, network: Network, setup: SearchSetup, builds: list[ToolBuild]
) -> dict[str, Any]:
    request, clock = setup.request(network), SystemClock()
    store = JsonLinesTrialStore(folder / "trials.jsonl", (), ())
    with (
        tempfile.TemporaryDirectory(prefix="hpcfair-bench-") as scratch,
        LocalDevice(request, setup.backends, Path(scratch), counters_of(setup.target)) as device,
    ):
        wait()
        started = perf_counter()
        result = tune(request, setup.backends, device, store, clock=clock)
        seconds = perf_counter() - started
        say(f"{name}: {len(result.trials)} trials in {seconds:.0f} s, {result.stop_reason}")
        reference = setup.backends[request.reference_backend]
        with EvaluationContext(request, reference, device, clock) as context:
            compared = _compare(Comparison(context, setup.processes), result, builds)
    return {
        "reference_accuracy": result.reference_accuracy,
        "search": {
            "trials": len(result.trials), "seconds": seconds, "ended": result.stop_reason
        },
        **compared,
    }  # fmt: skip


def _compare(
    comparison: Comparison, result: SearchResult, builds: list[ToolBuild]
) -> dict[str, Any]:
    default = comparison.default()
    theirs: dict[str, list[CheckedBuild]] = {tool: [] for tool in TOOLS}
    tools: dict[str, list[dict[str, Any]]] = {tool: [] for tool in TOOLS}
    for build in builds:
        checked = comparison.checked_builds(build)
        say(names_of(checked) or f"{build.tool} {build.way}: nothing that runs, {build.detail}")
        theirs[build.tool] += checked
        tools[build.tool].append(
            {**described(build), "settings": [each.as_dict() for each in checked]}
        )
    ours: dict[str, CheckedBuild] = {}
    compared: dict[str, dict[str, Any]] = {}
    measured: dict[tuple[str, str], dict[str, Any]] = {}
    accuracy = result.reference_accuracy
    for figure in FIGURES:
        accepted = CLASSES[figure]
        if accepted.points_lost is not None and accuracy is None:
            continue
        best = best_within(result, accepted)
        candidate = best.trial.candidate
        is_default = candidate == result.baseline.trial.candidate
        ours[figure] = (
            default
            if is_default
            else comparison.checked(candidate.name, candidate.backend, best.build)
        )
        compared[figure] = {}
        for tool, checked in theirs.items():
            chosen = fastest(checked, default, accepted, accuracy)
            pair = (ours[figure].name, chosen.name)
            if pair not in measured:
                measured[pair] = _measured(comparison, ours[figure], chosen)
            compared[figure][tool] = {
                **measured[pair], "theirs": chosen.name, "is_default": chosen is default
            }  # fmt: skip
    return {
        "default": default.as_dict(),
        "ours": {figure: build.as_dict() for figure, build in ours.items()},
        "tools": tools,
        "compared": compared,
    }


def _measured(comparison: Comparison, ours: CheckedBuild, theirs: CheckedBuild) -> dict[str, Any]:
    """Their latency over ours; one if both are the same build."""
    if ours.name == theirs.name:
        return _SAME
    measurement = comparison.measure(ours, theirs)
    return {
        **asdict(measurement.ratio),
        "ours_ms": measurement.baseline_p50_ns / 1e6,
        "theirs_ms": measurement.candidate_p50_ns / 1e6,
        "rounds": len(measurement.blocks),
        "quality": measurement.quality,
    }


def _options() -> argparse.Namespace:
    options = SearchOptions(__doc__, MODELS, QUICK)
    options.number("budget", 40.0, 8.0, "seconds of our search")
    options.number("processes", 5, 2, "fresh ones of a measurement")
    options.parser.add_argument("--fresh", action="store_true", help="forget builds and results")
    return options.parse()


if __name__ == "__main__":
    main()
