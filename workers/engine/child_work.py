"""The functions that a device calls in its confined child processes.

Arguments arrive as :mod:`hpcfair.isolation.wire` delivers them: dataclasses as dictionaries.
"""

import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from hpcfair.measurement.placement import CallerPlacement
from hpcfair.measurement.query import QueryRunner, batches_of
from hpcfair.measurement.streams import copy_of
from hpcfair.measurement.timing import time_runs, wait_until_idle
from workers.engine.convolutions import convolution_sizes
from workers.engine.intermediates import saved_s
from workers.engine.ports import Array, Backend, Session
from workers.engine.profile import profile_to_dict
from workers.engine.samples import evaluation_samples
from workers.engine.sizes import require_outputs
from workers.engine.testset import TestSet, make_test_set
from workers.engine.types import (
    AlternativeFormat,
    BuildResult,
    Network,
    Options,
    SampleQuery,
    SharedFolders,
    TargetSpec,
    tensor_specs,
)


@dataclass(slots=True)
class _Open:
    """The session with its timing input.

    Attributes:
        load: Opens the build again.
        batches: Of a query; empty if a run is one input.
        streams: Number of streams of ``runner``.
    """

    session: Session
    inputs: dict[str, Array]
    placement: CallerPlacement
    load: Callable[[], Session]
    batches: list[dict[str, Array]] = field(default_factory=list)
    runner: QueryRunner | None = None
    streams: int = 0

    def run(self) -> object:
        """A run that is timed."""
        if self.runner is None:
            return self.session.run(self.inputs)
        self.runner.run(self.batches)
        return None


#: The only session of this process: builds in one process would disturb each other's threads and
#: memory.
_OPEN: list[_Open] = []


def test_set(*, network: Mapping[str, Any], rows: int, seed: int) -> TestSet:
    """The test set of a network, of at most ``rows`` rows of its samples if it has some. See
    :func:`workers.engine.testset.make_test_set`."""
    tested = network_from(network)
    return make_test_set(tested, evaluation_samples(tested, rows), seed)


def require(*, backend: str, network: Mapping[str, Any], target: Mapping[str, Any]) -> None:
    """Refuse a backend that can build or open nothing here. Raises BackendUnavailable."""
    backend_of(backend).require(network_from(network), target_from(target))


def build(
    *,
    backend: str,
    network: Mapping[str, Any],
    target: Mapping[str, Any],
    options: Options,
    out: str,
) -> dict[str, Any]:
    """Build a candidate in ``out``, by the backend ``module:class``. Returns the fields of the
    build that the caller does not know."""
    compiler, spec = backend_of(backend), target_from(target)
    # Imports the backend's library, which does not count as compile time.
    compiler.probe(spec)
    started, saved_before_s = perf_counter(), saved_s()
    result = compiler.build(network_from(network), spec, options, Path(out))
    return {
        "entry_point": result.entry_point,
        "runtime": result.runtime,
        "runtime_options": result.runtime_options,
        "tolerance": result.tolerance,
        "toolchain": result.toolchain,
        "provenance": result.provenance,
        # A backend may report a more accurate duration.
        "compile_s": result.compile_s or perf_counter() - started + saved_s() - saved_before_s,
        "peak_rss_bytes": peak_rss_bytes(),
    }


def open_build(
    *, backend: str, result: Mapping[str, Any], target: Mapping[str, Any], inputs: dict[str, Array]
) -> None:
    """Load a build as this process's session; ``inputs`` is the timing input."""
    loaded = BuildResult(**{**result, "directory": Path(result["directory"])})
    load = partial(backend_of(backend).load, loaded, target_from(target))
    session = load()
    _OPEN.append(_Open(session, inputs, CallerPlacement(session), load))


def profile(
    *,
    backend: str,
    network: Mapping[str, Any],
    target: Mapping[str, Any],
    result: Mapping[str, Any],
    inputs: dict[str, Array],
    out: str,
) -> dict[str, Any]:
    """Profile a build; the code of its kernels is written to ``out``."""
    loaded = BuildResult(**{**result, "directory": Path(result["directory"])})
    result_profile = backend_of(backend).profile(
        network_from(network), target_from(target), loaded, inputs, Path(out)
    )
    return profile_to_dict(result_profile)


def run(*, inputs: dict[str, Array]) -> dict[str, Array]:
    """Run the session once. Raises TensorsTooLarge for outputs over their bound."""
    outputs = _OPEN[0].session.run(inputs)
    require_outputs(outputs)
    return outputs


def time(*, runs: int, warmup: int) -> dict[str, Any]:
    """Time the session on its timing input.

    Returns ``samples_ns`` of each run, ``involuntary_switches`` of all threads during the runs, the
    process's ``peak_rss_bytes`` so far, and ``caller_placed``, as of
    :class:`hpcfair.measurement.types.Timing`.
    """
    opened = _OPEN[0]
    with opened.placement as placement:
        timing = time_runs(opened.run, runs, warmup)
    return {
        "samples_ns": list(timing.samples_ns),
        "involuntary_switches": timing.involuntary_switches or 0,
        "peak_rss_bytes": peak_rss_bytes(),
        "caller_placed": placement.is_active,
    }


def query(*, query: Mapping[str, Any]) -> None:
    """Let :func:`time` time queries, as of :class:`workers.engine.types.SampleQuery`."""
    opened, wish = _OPEN[0], SampleQuery(**query)
    opened.batches = (
        batches_of(opened.inputs, wish.samples, wish.batch)
        if wish.by_row
        else [opened.inputs] * wish.samples
    )
    if opened.runner is not None and opened.streams != wish.streams:
        opened.runner.close()
        opened.runner = None
    if opened.runner is None:
        opened.streams = wish.streams
        opened.runner = QueryRunner(
            opened.session, lambda: copy_of(opened.session, opened.load), wish.streams
        )


def answer() -> list[dict[str, Array]]:
    """Outputs of one query, batch by batch. Raises TensorsTooLarge as :func:`run`."""
    opened = _OPEN[0]
    outputs = opened.runner.outputs(opened.batches) if opened.runner else []
    for each in outputs:
        require_outputs(each)
    return outputs


def rest() -> None:
    """Wait until this process is idle."""
    wait_until_idle()


def peak_rss_bytes() -> int:
    """Peak resident memory of this process.

    On Linux ``VmHWM`` of ``proc_pid_status(5)``: the peak in ``getrusage(2)`` survives exec, so it
    would start at the worker's memory at the time of the fork.
    """
    if sys.platform != "linux":
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    status = Path("/proc/self/status").read_text()
    return next(int(v.split()[1]) for v in status.splitlines() if v.startswith("VmHWM:")) * 1024


def network_from(data: Mapping[str, Any]) -> Network:
    """A network as the worker sent it."""
    path, schedules, normal = data["samples_path"], data["schedules_path"], data["normal_path"]
    shared = data["shared"]
    return Network(
        **{
            **data,
            "model_path": Path(data["model_path"]),
            "inputs": tensor_specs(data["inputs"]),
            "outputs": tensor_specs(data["outputs"]),
            "embedding": tuple(data["embedding"]),
            "convolutions": convolution_sizes(data["convolutions"]),
            "alternatives": tuple(
                AlternativeFormat(each["format"], Path(each["path"]), each["sha256"])
                for each in data["alternatives"]
            ),
            "passes": {name: tuple(lists) for name, lists in data["passes"].items()},
            "samples_path": Path(path) if path is not None else None,
            "schedules_path": Path(schedules) if schedules is not None else None,
            "normal_path": Path(normal) if normal is not None else None,
            "shared": shared and SharedFolders(Path(shared["existing"]), Path(shared["added"])),
        }
    )


def target_from(data: Mapping[str, Any]) -> TargetSpec:
    """A target as the worker sent it."""
    return TargetSpec(**{**data, "features": frozenset(data["features"])})


def backend_of(path: str) -> Backend:
    """A backend by ``module:class``."""
    module, _, name = path.partition(":")
    return cast("Backend", getattr(import_module(module), name)())
