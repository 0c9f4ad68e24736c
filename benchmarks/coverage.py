"""Which exported networks each backend builds, computes rightly and speeds up.

``make bench NAME=coverage [ARGS="--seed 1"]``. A set of architectures is drawn by seed and exported
as users export them (:mod:`benchmarks.exports`). For every backend that is here and each precision
that it offers, its default and its promising configurations are built, checked against the
unoptimised reference and measured briefly beside the default of the runtime.

An interrupted run continues; ``--fresh`` starts again, which a change of the backends' code needs.
"""

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.calm import wait
from benchmarks.coverage_summary import (
    Cell,
    cells_of,
    figures_of,
    refusal_lines,
    refusals_of,
    table_of,
)
from benchmarks.coverage_trials import CoverageSetup, Document, cover
from benchmarks.exports.catalogue import FAMILIES
from benchmarks.exports.drawing import Export, draw
from benchmarks.exports.folders import NotExported, folder_of
from benchmarks.exports.sizes import SCALES, SMALL
from benchmarks.report import environment, report, say
from workers.backends import registry
from workers.fleet.probe import this_machine

_QUICK_FAMILIES, _QUICK_NETWORKS = ("torch_vision", "torch_other"), 2
_BASELINE = "the defaults of the runtime that a user without the hub has, interleaved"
_PACKAGES = (
    *("onnxruntime", "openvino", "nncf", "apache-tvm", "torch", "ai-edge-litert"),
    *("onnxruntime-gpu", "tensorrt"),
)


def main() -> None:
    """Export, build, check, measure, report the figures."""
    options = _options()
    here = this_machine(options.target).spec
    reference = registry.reference_for(here)
    names = None
    if options.backends:
        names = list(dict.fromkeys([reference, *options.backends]))
    backends, missing = registry.available(here, names)
    folder = options.cache / "coverage"
    if options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    facts = environment(*_PACKAGES, target=here.slug, arguments=_arguments(options))
    limits = options.seconds, options.network_s, options.build_s
    setup = CoverageSetup(here, backends, reference, *limits, folder, is_brief=options.brief)
    exports = draw(options.seed, options.networks, options.families, options.scale)
    results, not_exported = _cover_all(exports, setup, options)
    faults = {name: fault for name, fault in setup.faults.items() if fault}
    facts |= {"backends": sorted(backends), "missing": missing | faults}
    _report(results, not_exported, facts)


def _cover_all(
    exports: list[Export], setup: CoverageSetup, options: argparse.Namespace
) -> tuple[dict[str, dict[str, Document]], dict[str, dict[str, str]]]:
    """Results by network, and why others were not exported."""
    results: dict[str, dict[str, Document]] = {}
    not_exported: dict[str, dict[str, str]] = {}
    for number, export in enumerate(exports, 1):
        try:
            files = folder_of(export, options.cache, options.exporters)
        except NotExported as error:
            not_exported[export.slug] = {"step": error.step, "reason": str(error)}
            say(f"{export.slug}: not exported ({error.step}): {error}")
            continue
        if not options.busy:
            wait(probes=1)
        results[export.slug] = cover(export.slug, files, setup)
        say(f"{number}/{len(exports)} {_line(export.slug, results[export.slug])}")
    return results, not_exported


def _line(slug: str, backends: Mapping[str, Document]) -> str:
    cells = cells_of({slug: backends})
    marks = [f"{cell.backend} {cell.precision} {_mark(cell)}" for cell in cells]
    excluded = [f"{name} excluded" for name, each in backends.items() if each["excluded"]]
    return f"{slug}: {', '.join([*marks, *excluded])}"


def _mark(cell: Cell) -> str:
    if not cell.is_built:
        return "refused"
    if not cell.is_right:
        return "wrong"
    return "faster" if cell.is_faster else "right"


def _report(
    results: Mapping[str, Mapping[str, Document]],
    not_exported: Mapping[str, Mapping[str, str]],
    facts: Mapping[str, Any],
) -> None:
    cells = cells_of(results)
    refusals = refusals_of(cells)
    excluded = {
        f"{network} {backend}": document["excluded"]
        for network, backends in results.items()
        for backend, document in backends.items()
        if document["excluded"]
    }
    for line in ("", *table_of(cells), "", *refusal_lines(refusals)):
        say(line)
    say(f"{len(excluded)} excluded by documentation, {len(not_exported)} networks not exported")
    details = {
        "networks": results,
        "refusals": refusals,
        "excluded": excluded,
        "not_exported": not_exported,
    }
    figures = figures_of(cells, results)
    report("coverage", figures, baseline=_BASELINE, environment=facts, details=details)


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    # Paths of this machine are private.
    return {n: v for n, v in vars(options).items() if n not in {"cache", "exporters"}}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="another seed is another set")
    parser.add_argument("--networks", type=int, help="size of the set, by default all")
    parser.add_argument("--families", help=f"of {','.join(FAMILIES)}")
    parser.add_argument("--scale", choices=SCALES, default=SMALL, help="of the networks' sizes")
    parser.add_argument("--backends", help="by default all that are here")
    parser.add_argument("--target", help="of this machine; gpu for its GPU")
    parser.add_argument("--seconds", type=float, help="of one measurement, by default 2")
    parser.add_argument("--network-s", type=float, default=600.0, help="after it, only defaults")
    parser.add_argument("--build-s", type=float, default=180.0, help="longest time of a build")
    parser.add_argument(
        "--brief", action="store_true", help="leave a precision after its first right configuration"
    )
    parser.add_argument("--busy", action="store_true", help="do not wait for a quiet machine")
    parser.add_argument(
        "--exporters",
        type=Path,
        help="Python interpreter with the exporters' packages; by default one is made in .exports",
    )
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="exports and results")
    parser.add_argument("--fresh", action="store_true", help="forget results")
    parser.add_argument("--quick", action="store_true", help="does it run? no figures to quote")
    options = parser.parse_args()
    options.families = options.families.split(",") if options.families else None
    options.backends = options.backends.split(",") if options.backends else None
    options.seconds = options.seconds or (0.5 if options.quick else 2.0)
    if options.quick:
        options.families = options.families or list(_QUICK_FAMILIES)
        options.networks = options.networks or _QUICK_NETWORKS
    return options


if __name__ == "__main__":
    main()
