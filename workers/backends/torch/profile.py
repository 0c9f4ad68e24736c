"""Where the time of an AOTInductor package goes. Runs in a profile's child.

A package tells nobody when it calls what, unless it was compiled to, and telling costs time. So the
same program is compiled again, told to tell, and its kernels held against those of the build: they
must be the same C++ but for the line that tells. Whole runs are timed on the build itself.
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
#: Names under which Inductor records: of its kernels, and of those of PyTorch that it calls.
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
    """See :meth:`workers.engine.ports.Backend.profile`.

    Args:
        program: The exported program that the build was made from.

    Raises:
        InvalidCandidate: compiled again the program comes out otherwise, or does not run.
    """
    if build.directory is None:
        raise InvalidCandidate(f"nothing was built: {build.detail}")
    options: Options = build.provenance["options"]
    kernels = kernels_of(build.directory / build.entry_point)
    with tempfile.TemporaryDirectory() as scratch, refusing():
        twin = replace(build, directory=Path(scratch))
        package = Path(scratch, build.entry_point)
        exported = prepared(program, network, options, package.parent)
        origins = make_package(exported, target, options, package, watched=True)
        if kernels_of(package) != kernels:
            raise InvalidCandidate("compiled again, the program came out with other kernels")
        with closing(open_build(twin)) as session:
            log = _calls(session, inputs)
        mapped = read_tensors(package.parent)
        assert mapped is not None  # noqa: S101  for mypy: prepared has written it
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
    return _profile(network, options, total_ns, log, computed, tensors, _written(kernels, out))


def _calls(session: Session, inputs: dict[str, Array]) -> list[tuple[str, list[int]]]:
    """Calls of one run in order, each with its nanoseconds in every run.

    Raises:
        InvalidCandidate: runs differ in what they call.
    """
    session.run(inputs)
    runs = 0
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        begun = perf_counter()
        while runs < _RUNS and (runs < 3 or perf_counter() - begun < _SECONDS):
            session.run(inputs)
            runs += 1
    events = sorted(seen.events() or [], key=lambda event: event.time_range.start)
    found = [
        (match[1], round(event.time_range.elapsed_us() * 1000))
        for event in events
        if (match := _CALLED.match(event.name))
    ]
    each = len(found) // runs
    names = [name for name, _ in found[:each]]
    if not each or [name for name, _ in found] != names * runs:
        raise InvalidCandidate("runs of this build differ in what they call")
    return [(name, [ns for _, ns in found[at::each]]) for at, name in enumerate(names)]


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
    called: Sequence[str], origins: Mapping[str, tuple[str, ...]]
) -> list[tuple[str, ...]]:
    """Nodes of the program that each call computes; none where Inductor does not tell.

    Inductor tells of calls in the order in which they run, and of some that nobody records.
    """
    told, found = list(origins.items()), []
    at = 0
    for name in called:
        match = next((n for n in range(at, len(told)) if _same(name, told[n][0])), None)
        found.append(() if match is None else told[match][1])
        at = at if match is None else match + 1
    return found


def _same(called: str, told: str) -> bool:
    """Whether ``kernel:number`` of Inductor's is the call recorded by that name.

    PyTorch's kernels go by several: ``extern_kernels.addmm`` is ``aoti_torch_cpu_addmm_out``.
    """
    name = told.rpartition(":")[0]
    if called.startswith("cpp_") or name == called:
        return name == called
    words = [word for word in re.split(r"\.|::", name) if word not in {"default", "out"}]
    return _LIBRARY.sub("", words[-1]).strip("_") in called


def _written(kernels: Mapping[str, str], out: Path) -> dict[str, Kernel]:
    """Kernels by symbol, with their code in the folder ``out``."""
    found = {}
    for number, (symbol, code) in enumerate(sorted(kernels.items())):
        name = f"{number:04}.cpp"
        (out / name).write_text(code, encoding="utf-8")
        found[symbol] = Kernel(symbol, code={"c++": name})
    return found


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
    found = attribute(read_graph(network.model_path), operators)
    seen: Counter[str] = Counter()
    sites = []
    for (name, times), links in zip(log, found.links, strict=True):
        seen[name] += 1
        middle = median(times)
        sites.append(
            CallSite(
                name=f"{name}#{seen[name]}",
                operator=name,
                median_ns=int(middle),
                mad_ns=int(median(abs(time - middle) for time in times)),
                runs=len(times),
                kernel=name if name in kernels else None,
                # Lowered programs compute partly in float32, and do not say where.
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
        folded=found.folded,
    )
