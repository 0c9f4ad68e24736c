"""Speed of the builds that the hub serves, relative to ``onnxruntime.InferenceSession(path)``.

``make bench NAME=served [ARGS="--budget 60"]`` takes the examples, and with ``--seed N`` a set of
exported networks that the benchmark ``coverage`` draws. For each model TVM's schedules are
searched, as by the hub in the background; then the engine searches the model with all available
backends and the experience of the models before. The selected builds are measured again,
interleaved with the baseline in fresh processes, and only these figures count. ``offline`` counts
samples per second over the baseline at its best batch, ``multi_stream`` the time of a query of
eight samples.

An interrupted run continues; ``--fresh`` starts again.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.exports.catalogue import FAMILIES
from benchmarks.exports.drawing import Export, draw
from benchmarks.exports.folders import NotExported, folder_of
from benchmarks.exports.sizes import SCALES, SMALL
from benchmarks.networks import example, network_of
from benchmarks.report import Figure, counted, environment, geometric_mean, report, say
from benchmarks.searchoptions import SearchOptions
from benchmarks.served_figures import CLASSES
from benchmarks.served_queries import QUERIES
from benchmarks.serving import SearchSetup, add_stored_trials, search_and_measure
from hpcfair.precisions import PRECISION_OF
from workers.backends import registry
from workers.engine.errors import ReferenceFailed
from workers.engine.types import Network, TargetSpec, sha256_of
from workers.fleet.probe import this_machine
from workers.inspection.errors import InspectionError

#: Seven architectures of the onnx wheel, then others.
MODELS = (
    *("squeezenet", "resnet50", "densenet121", "shufflenet", "inception_v1", "inception_v2"),
    *("alexnet", "mobilenetv2", "bert_small", "digits"),
)
QUICK = ("digits", "squeezenet", "mobilenetv2")
#: Features with bfloat16 arithmetic: some processors, all GPUs.
BF16 = PRECISION_OF["bf16"].features | {"cuda"}
#: Version of stored results; increased when older ones become unreadable or incomparable.
_RESULTS = 7
_BASELINE = "onnxruntime.InferenceSession(path), nothing set, in the same interleaved run"
_GPU_BASELINE = "ONNX Runtime's CUDA provider, nothing set, in the same interleaved run"
_PACKAGES = (
    *("onnxruntime", "openvino", "nncf", "apache-tvm", "torch", "ai-edge-litert"),
    *("onnxruntime-gpu", "tensorrt"),
)


def main() -> None:
    """Search, measure, report the figures."""
    options = _options()
    here = this_machine(options.target).spec
    facts = environment(*_PACKAGES, target=here.slug, arguments=_arguments(options))
    setup = _setup(options, here)
    folder = options.cache / "served" / _key(options, setup)
    if options.fresh:
        for forgotten in (folder, options.cache / "models"):
            shutil.rmtree(forgotten, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for reason in setup.missing.values():
        say(reason)
    models: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    for name, make in _networks(options).items():
        try:
            models[name] = _once(folder, name, make(), setup)
        except (NotExported, InspectionError, ReferenceFailed) as error:
            problems[name] = str(error)
            say(f"{name} is left out: {error}")
        else:
            say(_line(name, models[name]))
    facts |= {"missing": setup.missing, "backends": sorted(setup.backends), "left_out": problems}
    figures = _figures(models)
    if not BF16 & setup.features:
        figures = {name: figure for name, figure in figures.items() if "bf16" not in name}
        facts["bf16"] = "absent: this machine has no arithmetic in bfloat16"
    baseline = _BASELINE if setup.reference == "onnxruntime" else _GPU_BASELINE
    report("served", figures, baseline=baseline, environment=facts, details=_brief(models))


def _networks(options: argparse.Namespace) -> dict[str, Callable[[], Network]]:
    """The networks by name, made when called. An exported one may raise NotExported or
    InspectionError."""
    if options.seed is None:
        return {name: partial(example, name, options.cache) for name in options.models}
    exports = draw(options.seed, options.networks, options.families, options.scale)
    return {export.slug: partial(_exported, export, options.cache) for export in exports}


def _exported(export: Export, cache: Path) -> Network:
    return network_of(folder_of(export, cache))


def _setup(options: argparse.Namespace, here: TargetSpec) -> SearchSetup:
    # The examples were published as ONNX alone.
    formats = {"onnx"} if options.seed is None else None
    backends, missing = registry.available(here, options.backends, formats=formats)
    baseline = registry.reference_for(here)
    return SearchSetup(
        here,
        backends,
        missing,
        options.budget,
        options.processes,
        baseline,
        options.schedules,
    )


def _once(folder: Path, name: str, network: Network, setup: SearchSetup) -> dict[str, Any]:
    """Results of a model, from an earlier run or measured now."""
    path = folder / f"{name}.json"
    if not path.exists():
        result = search_and_measure(name, network, folder, setup)
        # Written atomically: a run may be interrupted at any moment.
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(result, allow_nan=False))
        draft.rename(path)
    else:
        add_stored_trials(name, network, folder, setup)
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def _figures(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    for name in (*CLASSES, *QUERIES):
        served = [m["classes"][name] for m in models.values() if name in m["classes"]]
        if not served:
            continue
        figures[name] = geometric_mean([_figure(build) for build in served])
        figures[f"{name}_least"] = min(
            (_figure(build) for build in served), key=lambda figure: figure.value
        )
    # Of the measured builds: if int8 is not faster, the served build has another precision.
    lost = [
        100 * (model["reference_accuracy"] - model["int8_measured"]["accuracy"])
        for model in models.values()
        if model["int8_measured"] is not None
    ]
    if lost:
        figures["int8_accuracy_lost"] = counted(max(lost), "points, fastest int8 build measured")
    figures["models"] = counted(len(models), "models")
    return figures


def _figure(build: Mapping[str, Any]) -> Figure:
    return Figure(build["speedup"], build["low"], build["high"], "ratio")


def _brief(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        name: {
            **model,
            "classes": {
                tolerance: {
                    **{key: value for key, value in build.items() if key != "measurement"},
                    "energy": build.get("measurement", {}).get("energy", {}),
                }
                for tolerance, build in model["classes"].items()
            },
        }
        for name, model in models.items()
    }


def _line(name: str, model: Mapping[str, Any]) -> str:
    cells = [f"{name:<14}"]
    for figure, build in model["classes"].items():
        cells.append(
            f"{figure} {build['speedup']:5.2f}x [{build['low']:.2f}, {build['high']:.2f}]"
            f" {build['backend']:<12}"
        )
    return " | ".join([*cells, f"{model['trials']} trials in {model['seconds']:.0f} s"])


def _key(options: argparse.Namespace, setup: SearchSetup) -> str:
    """Key of stored results: another machine or toolchain starts again."""
    return sha256_of(
        {
            "target": setup.target.slug,
            "cores": setup.target.cores,
            "toolchain": setup.toolchain(),
            "budget": options.budget,
            "schedules": options.schedules,
            "processes": options.processes,
            "results": _RESULTS,
        }
    )[:16]


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    # Paths of this machine are private.
    return {name: value for name, value in vars(options).items() if name != "cache"}


def _options() -> argparse.Namespace:
    options = SearchOptions(__doc__, MODELS, QUICK)
    add = options.parser.add_argument
    options.networks.add_argument(
        "--seed", type=int, help="of a set of exported networks in place of examples"
    )
    options.number("networks", 20, 2, "size of that set")
    add("--families", help=f"of that set, of {','.join(FAMILIES)}")
    add("--scale", choices=SCALES, default=SMALL, help="of the sizes of its networks")
    add("--target", help="of this machine; gpu for its GPU")
    options.number("budget", 60.0, 12.0, "seconds of search per model")
    options.number("schedules", 120.0, 0.0, "seconds of search of TVM's schedules per model before")
    options.number("processes", 10, 3, "fresh ones of a measurement")
    add("--fresh", action="store_true", help="forget models and results")
    parsed = options.parse()
    parsed.families = parsed.families.split(",") if parsed.families else None
    return parsed


if __name__ == "__main__":
    main()
