"""Where the time goes in which TVM compiles a network, and how much of it passes can save.

``make bench NAME=compile_profile [ARGS="--networks bert_2"]``. Each network is compiled as by the
hub, without schedules, with four lists of passes in turns: TVM's own, its full list, the list that
studies choose for transformers, and the shortest legal one. Times are processor seconds of the
process and its linker, so that other programs hardly disturb them.
"""

import argparse
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import workers.backends.tvm.without_torch  # noqa: F401  before TVM

# isort: split
from tvm.ir.instrument import PassInstrument
from tvm.ir.transform import PassContext

from benchmarks.pass_subjects import Subject, subjects_of
from benchmarks.passes import cut
from benchmarks.report import Figure, environment, ratio, report, say, spread
from benchmarks.rounds import take_turns
from workers.backends.tvm import artefact, passes
from workers.backends.tvm import compile as compiling
from workers.backends.tvm.backend import TvmBackend
from workers.backends.tvm.space import FIXED
from workers.engine.types import Network, TargetSpec
from workers.fleet.probe import this_machine

Steps = dict[str, float]
LISTS = {
    "own": passes.DEFAULT,
    "full": passes.FULL,
    "folded": passes.FOLDED,
    "shortest": ("LegalizeOps",),
}
#: What no list of passes may leave out; the passes of :data:`passes.HEAD` and most of
#: :data:`passes.TAIL` besides.
_NEEDED = ("import", "LegalizeOps", "bytecode", "loops", "llvm")
#: Not part of the compile time that studies measure.
_LINK = "link"
_BASELINE = "TVM's own pipeline for CPUs, in turns in the same process"


def main() -> None:
    """Profile the networks and report the shares."""
    options = _options()
    here = this_machine().spec
    figures: dict[str, Figure] = {}
    details: dict[str, Any] = {}
    for subject in options.networks:
        rounds = _rounds(subject, here, options)
        figures |= figures_of(subject.name, rounds)
        details[subject.name] = {name: medians(each) for name, each in rounds.items()}
        for name, seconds in details[subject.name]["own"].items():
            say(f"{subject.name} {name:<28} {seconds * 1e3:8.1f} ms")
    facts = environment("apache-tvm", target=here.slug, rounds=options.rounds)
    report("compile_profile", figures, baseline=_BASELINE, environment=facts, details=details)


def figures_of(name: str, rounds: Mapping[str, list[Steps]]) -> dict[str, Figure]:
    """Shares of the own list's compile time by kind of step, and what the other lists save."""
    own = rounds["own"]
    totals = {label: [total(steps) for steps in each] for label, each in rounds.items()}
    figures = {f"{name}_s": spread(totals["own"], "s of processor time")}
    for step in _NEEDED:
        shares = [steps[step] / total(steps) for steps in own]
        figures[f"{name}_{step}"] = spread(shares, "of compile time")
    for label, is_needed in (("needed_passes", True), ("other_passes", False)):
        shares = [_passes(steps, needed=is_needed) / total(steps) for steps in own]
        figures[f"{name}_{label}"] = spread(shares, "of compile time")
    for label in rounds:
        if label != "own":
            figures[f"{name}_{label}_cut"] = cut(ratio(totals[label], totals["own"]))
    return figures


def total(steps: Steps) -> float:
    """Seconds of compiling, without linking."""
    return sum(seconds for name, seconds in steps.items() if name != _LINK)


def medians(rounds: list[Steps]) -> Steps:
    """The median seconds of each step, longest first."""
    middle = {name: spread([each[name] for each in rounds], "s").value for name in rounds[0]}
    return dict(sorted(middle.items(), key=lambda item: -item[1]))


def _passes(steps: Steps, *, needed: bool) -> float:
    """Seconds of the passes that every list has, ``LegalizeOps`` aside, or of all others."""
    every = {*passes.HEAD, *passes.TAIL} - {*passes.DEFAULT}
    others = {name: s for name, s in steps.items() if name not in {*_NEEDED, _LINK}}
    return sum(seconds for name, seconds in others.items() if (name in every) is needed)


def _rounds(
    subject: Subject, here: TargetSpec, options: argparse.Namespace
) -> dict[str, list[Steps]]:
    """Steps by list of passes and round."""
    network = subject.make(options.cache)
    compiled: dict[str, list[Steps]] = {name: [] for name in LISTS}

    def compile_with(name: str) -> float:
        compiled[name].append(profiled(network, here, LISTS[name]))
        return total(compiled[name][-1])

    turns = {name: partial(compile_with, name) for name in LISTS}
    take_turns(subject.name, turns, options.rounds)
    # The first round only fills the compiler's caches.
    return {name: each[1:] for name, each in compiled.items()}


def profiled(network: Network, here: TargetSpec, names: tuple[str, ...]) -> Steps:
    """Processor seconds of each step of one build, for fixed sizes and without schedules."""
    backend = TvmBackend()
    options = {**backend.default(network, here), "shapes": FIXED}
    target = backend.compiler_target(here, options)
    watch = StepWatch()
    imported = artefact.imported_of(network, options)
    watch.mark("import")
    compiled = compiling.compile_network(imported, passes.pipeline_of(names), target, {}, watch)
    watch.end_code()
    with TemporaryDirectory() as folder:
        workspace = Path(folder) / "objects"
        workspace.mkdir()
        compiling.export(compiled, Path(folder) / artefact.LIBRARY, workspace, target)
    watch.mark(_LINK)
    return watch.steps


class StepWatch:
    """A :class:`workers.backends.tvm.compile.Watch` that takes the time of each step.

    A pass includes what it compiles itself, as ``FoldConstant`` does. Code generation consists of
    ``bytecode`` for the virtual machine, ``loops`` (the passes that lower loop nests) and ``llvm``
    (optimisation and machine code).
    """

    def __init__(self) -> None:
        self.steps: Steps = {}
        self._last = _processor_s()
        self._loops: list[float] = []

    def __call__(self, name: str, module: Any) -> Any:
        self.mark(name)
        # The passes that follow are those of code generation, unless this is called again.
        self._loops.clear()
        PassContext.current().override_instruments([_PassClock(self._loops)])
        return module

    def mark(self, name: str) -> None:
        """End a step, which began where the previous one ended."""
        now = _processor_s()
        self.steps[name] = self.steps.get(name, 0.0) + now - self._last
        self._last = now

    def end_code(self) -> None:
        """End code generation; its loops are lowered between the first pass and the last."""
        first, last = self._loops[0], self._loops[-1]
        for name, end in (("bytecode", first), ("loops", last), ("llvm", _processor_s())):
            self.steps[name] = end - self._last
            self._last = end


class _PassClock(PassInstrument):  # type: ignore[misc]  # TVM has no types
    """Notes the processor seconds at each begin and end of a pass."""

    __slots__ = ("__dict__",)

    def __init__(self, times: list[float]) -> None:
        self._times = times
        super().__init__()

    def run_before_pass(self, _module: Any, _info: Any) -> None:
        self._times.append(_processor_s())

    def run_after_pass(self, _module: Any, _info: Any) -> None:
        self._times.append(_processor_s())


def _processor_s() -> float:
    """Processor seconds of this process and of the programs that it ran."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.compile_profile", description=__doc__)
    parser.add_argument("--networks", type=subjects_of, default=subjects_of("bert_2,bert_4"))
    parser.add_argument("--rounds", type=int, default=12, help="builds with each list")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
