"""Profiles AOTInductor packages. Runs in the child process of a profile.

Packages report their calls only if they were compiled with instrumentation, which costs time. The
program is therefore compiled again with instrumentation, and its kernels are compared with those of
the build: apart from the instrumentation, the C++ must be equal. Whole runs of the build itself are
timed.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns

import torch

from hpcfair.runtimes.tensors import read_tensors
from workers.backends.attribution import Operator, attribute, read_graph
from workers.backends.base import open_build
from workers.backends.torch.compile import make_package, prepared, refusing
from workers.backends.torch.package import kernels_of
from workers.backends.torch.values import tensors_of_nodes
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array, Session
from workers.engine.profile import CallSite, Kernel, Profile
from workers.engine.types import BuildResult, Network, Options, TargetSpec

_RUNS, _SECONDS = 21, 5.0
#: Names of recorded calls: Inductor's kernels, and kernels of PyTorch.
_CALLED = re.compile(r"(?:graph_\d+_)?(cpp_\w+|aoti_torch_\w+)$")
_LIBRARY = re.compile(r"aoti_torch_(cpu_)?")


def profile_build(
    network: Network,
    program: Path,
    target: TargetSpec,
    build: BuildResult,
    inputs: dict[str, Array],
    out: Path,
) -> Profile:
    """See :meth:`workers.engine.ports.Backend.profile`; ``program`` was compiled for the build.

    Raises InvalidCandidate if compiling again gives other kernels, or the package does not run.
    """
    if build.directory is None:
        raise InvalidCandidate(f"nothing was built: {build.detail}")
    options: Options = build.provenance["options"]
    kernels = kernels_of(build.directory / build.entry_point)
    with tempfile.TemporaryDirectory() as scratch, refusing():
        twin = replace(build, directory=Path(scratch))
        package = Path(scratch, build.entry_point)
        exported = prepared(program, network, target, options, package.parent)
        origins = make_package(exported, target, options, package, instrumented=True)
        if kernels_of(package) != kernels:
            raise InvalidCandidate("compiling the program again gave other kernels")
        with closing(open_build(twin)) as session:
            log = _calls(session, inputs)
        mapped = read_tensors(package.parent)
        assert mapped is not None  # noqa: S101  for mypy: written by prepared
        tensors = tensors_of_nodes(
            exported,
            {name for names in origins.values() for name in names},
            network.model_path,
            inputs,
            mapped[0],
            str(options["precision"]),
        )
    computed = _computed([name for name, _ in log], origins)
    with closing(open_build(build)) as session:
        total_ns = _whole(session, inputs)
    return _profile(
        network, options, total_ns, log, computed, tensors, _write_kernels(kernels, out)
    )


def _calls(session: Session, inputs: dict[str, Array]) -> list[tuple[str, list[int]]]:
    """Calls of a run in order, each with its nanoseconds in all runs. Raises InvalidCandidate if
    the runs have different calls."""
    session.run(inputs)
    runs = 0
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        begun = perf_counter()
        while runs < _RUNS and (runs < 3 or perf_counter() - begun < _SECONDS):
            session.run(inputs)
            runs += 1
    events = sorted(profiler.events() or [], key=lambda event: event.time_range.start)
    calls = [
        (match[1], round(event.time_range.elapsed_us() * 1000))
        for event in events
        if (match := _CALLED.match(event.name))
    ]
    count = len(calls) // runs
    names = [name for name, _ in calls[:count]]
    if not count or [name for name, _ in calls] != names * runs:
        raise InvalidCandidate("the runs of this build have different calls")
    return [(name, [ns for _, ns in calls[n::count]]) for n, name in enumerate(names)]


def _whole(session: Session, inputs: dict[str, Array]) -> int:
    times: list[int] = []
    session.run(inputs)
    begun = perf_counter()
    while len(times) < _RUNS and (len(times) < 3 or perf_counter() - begun < _SECONDS):
        started = perf_counter_ns()
        session.run(inputs)
        times.append(perf_counter_ns() - started)
    return int(median(times))


def _computed(
    calls: Sequence[str], origins: Mapping[str, tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Nodes of the program by call; empty where Inductor does not name them. Inductor lists calls
    in the order they run, including some that are not recorded."""
    listed, nodes = list(origins.items()), []
    cursor = 0
    for name in calls:
        match = next((n for n in range(cursor, len(listed)) if _same(name, listed[n][0])), None)
        nodes.append(() if match is None else listed[match][1])
        cursor = cursor if match is None else match + 1
    return nodes


def _same(recorded: str, listed: str) -> bool:
    """Whether a recorded call is the call ``kernel:number`` of Inductor's list. PyTorch's kernels
    have several names: ``extern_kernels.addmm`` is ``aoti_torch_cpu_addmm_out``."""
    name = listed.rpartition(":")[0]
    if recorded.startswith("cpp_") or name == recorded:
        return name == recorded
    words = [word for word in re.split(r"\.|::", name) if word not in {"default", "out"}]
    return _LIBRARY.sub("", words[-1]).strip("_") in recorded


def _write_kernels(kernels: Mapping[str, str], out: Path) -> dict[str, Kernel]:
    """Write the code of kernels into ``out``; returns kernels by symbol."""
    written = {}
    for number, (symbol, code) in enumerate(sorted(kernels.items())):
        name = f"{number:04}.cpp"
        (out / name).write_text(code, encoding="utf-8")
        written[symbol] = Kernel(symbol, code={"c++": name})
    return written


def _profile(
    network: Network,
    options: Options,
    total_ns: int,
    log: Sequence[tuple[str, list[int]]],
    computed: Sequence[tuple[str, ...]],
    tensors: Mapping[str, str],
    kernels: Mapping[str, Kernel],
) -> Profile:
    operators = [
        Operator(name, names=(), outputs=tuple(tensors[node] for node in nodes if node in tensors))
        for (name, _), nodes in zip(log, computed, strict=True)
    ]
    attribution = attribute(read_graph(network.model_path), operators)
    counts: Counter[str] = Counter()
    sites = []
    for (name, times), links in zip(log, attribution.links, strict=True):
        counts[name] += 1
        middle = median(times)
        sites.append(
            CallSite(
                name=f"{name}#{counts[name]}",
                operator=name,
                median_ns=int(middle),
                mad_ns=int(median(abs(time - middle) for time in times)),
                runs=len(times),
                kernel=name if name in kernels else None,
                # In programs of reduced precision, it is unknown which calls compute in float32.
                precision="float32" if options["precision"] == "float32" else None,
                implementation="inductor" if name in kernels else "aten",
                nodes=links,
            )
        )
    return Profile(
        method=f"kernel records of torch {torch.__version__} in the same program compiled again;"
        " whole runs of the build itself",
        total_ns=total_ns,
        call_sites=tuple(sites),
        kernels=tuple(kernels[name] for name in sorted(kernels)),
        folded=attribution.folded,
    )
