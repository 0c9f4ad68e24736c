"""Profiles TVM builds. Runs in the child process of a profile.

Times are measured on the build itself, by the virtual machine's hook around each call. The nodes
that a call computes, and its code, are determined by compiling the candidate again.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter_ns
from typing import Any

import tvm
from tvm import IRModule, relax
from tvm.tirx import PrimFunc

from hpcfair.runtimes.tvm import TvmRuntime
from workers.backends.tvm import code
from workers.backends.tvm import compile as compiling
from workers.backends.tvm.artefact import imported_of, records_of
from workers.backends.tvm.database import DatabaseRecord, workload_key
from workers.backends.tvm.links import links_of, published_sites
from workers.backends.tvm.loops import decisions_of
from workers.backends.tvm.passes import pipeline_of
from workers.backends.tvm.provenance import RESHAPE, Site, Tracker, calls_of
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import CallSite, Kernel, NodeLink, Profile
from workers.engine.types import BuildResult, Network

_RUNS, _MOST_S = 21, 5.0
#: Prefixes of the virtual machine's own calls: memory, shapes, checks.
_OWN = ("vm.builtin.", "shape_func")


@dataclass(frozen=True, slots=True)
class _Recompiled:
    """A candidate compiled again, with provenance.

    Attributes:
        called: Symbols that a run calls, in order, with the keys of their loop nests if any.
        functions: Final loop nest by symbol.
        tunable: Loop nest before its schedule by key; ``scheduled`` is the applied schedule by key.
    """

    sites: list[Site]
    called: list[tuple[str, str | None]]
    functions: dict[str, PrimFunc]
    tunable: dict[str, PrimFunc]
    executable: Any
    scheduled: dict[str, DatabaseRecord]


def profile(
    network: Network, build: BuildResult, runtime: Session, inputs: dict[str, Array], out: Path
) -> Profile:
    """See :meth:`workers.engine.ports.Backend.profile`. Raises InvalidCandidate if the network has
    branches, so its calls have no fixed order."""
    if not isinstance(runtime, TvmRuntime):
        raise InvalidCandidate(f"not a build of TVM: {build.runtime}")
    again = _compile_again(network, build)
    log, total_ns = timed(runtime, inputs)
    if [name for name, _ in log] != [name for name, _ in again.called]:
        raise InvalidCandidate("the build calls other functions than the recompiled network")
    sites = published_sites(network.model_path, network.source_path, again.sites)
    links, folded = links_of(network.model_path, sites)
    return Profile(
        method=f"VirtualMachine.set_instrument of TVM {tvm.__version__}, each call",
        total_ns=total_ns,
        call_sites=_call_sites(again, log, links),
        kernels=_kernels(again, out),
        folded=tuple(folded),
    )


def timed(runtime: TvmRuntime, inputs: dict[str, Array]) -> tuple[list[tuple[str, list[int]]], int]:
    """Calls of a run in order with their nanoseconds in all runs, and the median of whole runs."""
    started: list[int] = []
    calls: list[tuple[str, int]] = []

    def watch(_function: Any, name: str, before: bool, _result: Any, *_rest: Any) -> None:  # noqa: FBT001  TVM's signature
        synchronise()
        if before:
            started.append(perf_counter_ns())
            return
        elapsed = perf_counter_ns() - started.pop()
        if name == RESHAPE or not name.startswith(_OWN):
            calls.append((name, elapsed))

    # GPU kernels run asynchronously.
    synchronise = runtime.device.sync
    runs: list[list[tuple[str, int]]] = []
    totals: list[int] = []
    runtime.run(inputs)
    runtime.session.set_instrument(watch)
    begun = perf_counter_ns()
    while len(runs) < _RUNS and (len(runs) < 3 or perf_counter_ns() - begun < _MOST_S * 1e9):
        run_started = perf_counter_ns()
        runtime.run(inputs)
        totals.append(perf_counter_ns() - run_started)
        runs.append(calls.copy())
        calls.clear()
    if len({tuple(name for name, _ in run) for run in runs}) != 1:
        raise InvalidCandidate("the runs of this build have different calls")
    log = [(name, [run[n][1] for run in runs]) for n, (name, _) in enumerate(runs[0])]
    return log, int(median(totals))


def _compile_again(network: Network, build: BuildResult) -> _Recompiled:
    options = build.provenance["options"]
    records, pipeline = records_of(network, options), pipeline_of(options["passes"])
    tracker, calls = Tracker(), _Calls(pipeline.tail[0])

    def watch(name: str, module: IRModule) -> IRModule:
        return calls(name, tracker(name, module))

    imported = imported_of(network, options)
    target = build.provenance["target"]
    compiled = compiling.compile_network(imported, pipeline, target, records, watch)
    sites, (keys, tunable) = tracker.sites(), calls.tunable()
    if not len(sites) == len(calls.symbols) == len(keys):
        raise InvalidCandidate("passes after fusion changed which functions are called")
    return _Recompiled(
        sites,
        list(zip(calls.symbols, keys, strict=True)),
        calls.functions,
        tunable,
        compiled.executable,
        {key: records[key] for key in compiled.scheduled.values()},
    )


@dataclass(slots=True)
class _Calls:
    """Records the calls of a network once its loop nests are final; ``final`` is the first pass
    after that."""

    final: str
    body: IRModule | None = None
    symbols: list[str] = field(default_factory=list)
    functions: dict[str, PrimFunc] = field(default_factory=dict)

    def __call__(self, name: str, module: IRModule) -> IRModule:
        if name == self.final:
            self.symbols = calls_of(module)
            self.functions = _functions(module)
        elif not self.symbols:
            self.body = module
        return module

    def tunable(self) -> tuple[list[str | None], dict[str, PrimFunc]]:
        """Keys of the loop nests in the order of calls, ``None`` for other functions; and the loop
        nests by key, as schedules are applied to them."""
        module = relax.transform.AttachAttrLayoutFreeBuffers()(self.body)
        functions = _functions(module)
        keyed = {symbol: workload_key(f) for symbol, f in functions.items()}
        by_key = {key: functions[symbol] for symbol, key in keyed.items()}
        return [keyed.get(symbol) for symbol in calls_of(module)], by_key


def _functions(module: IRModule) -> dict[str, PrimFunc]:
    return {
        variable.name_hint: function
        for variable, function in module.functions_items()
        if isinstance(function, PrimFunc)
    }


def _call_sites(
    again: _Recompiled, log: Sequence[tuple[str, list[int]]], links: Sequence[tuple[NodeLink, ...]]
) -> tuple[CallSite, ...]:
    counts: Counter[str] = Counter()
    sites = []
    for site, (symbol, key), (_, times), nodes in zip(
        again.sites, again.called, log, links, strict=True
    ):
        counts[site.symbol] += 1
        middle = median(times)
        function = again.functions.get(symbol)
        sites.append(
            CallSite(
                name=f"{site.symbol}#{counts[site.symbol]}",
                operator=site.symbol,
                median_ns=int(middle),
                mad_ns=int(median(abs(time - middle) for time in times)),
                runs=len(times),
                kernel=symbol if function is not None else None,
                precision=str(function.params[-1].dtype) if function is not None else None,
                implementation="tuned" if key in again.scheduled else None,
                nodes=nodes,
            )
        )
    return tuple(sites)


def _kernels(again: _Recompiled, out: Path) -> tuple[Kernel, ...]:
    sources = code.sources_of(again.executable.mod, list(again.functions))
    kernels = []
    for number, (symbol, key) in enumerate(sorted(dict(again.called).items())):
        if symbol not in again.functions:
            continue
        texts = {"tir": again.functions[symbol].script(), **sources[symbol]}
        record = again.scheduled.get(key or "")
        if record is not None:
            texts |= _loops(again, symbol, record)
        files = {kind: f"{number:04}.{kind}" for kind in texts}
        for kind, name in files.items():
            (out / name).write_text(texts[kind], encoding="utf-8")
        kernels.append(Kernel(symbol, key, files, record.trace if record else None))
    return tuple(kernels)


def _loops(again: _Recompiled, symbol: str, record: DatabaseRecord) -> dict[str, str]:
    """The decisions that made each loop of a scheduled kernel, as code of kind ``loops``."""
    try:
        loops = decisions_of(again.tunable[record.key], record.trace, again.functions[symbol])
    # TVM's exceptions share no base below Exception; a profile without loops is better than none.
    except Exception:  # noqa: BLE001
        return {}
    return {"loops": json.dumps(loops)}
