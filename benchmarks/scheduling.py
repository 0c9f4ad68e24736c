"""Searches operator schedules of a network for TVM, as the hub does in the background."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.calm import wait
from benchmarks.layers import LIMITS, compiler
from benchmarks.report import say
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.errors import CandidateFailed
from workers.engine.ports import PhaseTime
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleResult
from workers.engine.types import Network, TargetSpec, canonical_json


def stored_schedules(
    name: str,
    network: Network,
    target: TargetSpec,
    seconds: float,
    path: Path,
    passes: str = "",
) -> Path | None:
    """The file ``path`` of schedules for a network; searched now if it does not exist.

    Args:
        passes: Pipeline whose loops are scheduled; by default the hub's.

    Returns:
        ``path``; ``None`` if TVM rejects the network.
    """
    if path.exists():
        return path
    wait()
    try:
        result = _searched(name, network, target, seconds, passes)
    except CandidateFailed as error:
        say(f"{name}: no schedules: {error}")
        return None
    say(
        f"{name}: {len(result.winners)} schedules after {result.charged_trials} trials, "
        f"{result.stop_reason}"
    )
    # Written atomically: a run may be interrupted at any moment.
    draft = path.with_suffix(".draft")
    draft.write_bytes(_records(result))
    draft.rename(path)
    return path


def with_schedules(network: Network, path: Path | None) -> Network:
    """``network`` with a copy of ``path`` beside its model, where children may read it."""
    if path is None or not path.stat().st_size:
        return network
    beside = network.model_path.with_name("schedules.jsonl")
    shutil.copyfile(path, beside)
    return replace(network, schedules_path=beside)


def _searched(
    name: str, network: Network, target: TargetSpec, seconds: float, passes: str
) -> ScheduleResult:
    """Raises CandidateFailed if TVM rejects the network."""

    def progress(
        phase: str,
        done: int,
        total: int | None,  # noqa: ARG001
        message: str,
        phase_time: PhaseTime | None = None,  # noqa: ARG001
    ) -> None:
        if phase != "measure":
            say(f"{name}: {phase} {done} {message}")

    budget = ScheduleBudget(seconds=seconds)
    with TemporaryDirectory(prefix="hpcfair-schedules-") as scratch:
        tasks = tasks_of(network, target, limits=LIMITS, scratch=Path(scratch), passes=passes)
    with compiler(target, "evolution", 0, budget.batch) as schedule_compiler:
        return tune_schedules(
            tasks, schedule_compiler, MemoryScheduleStore(tasks), budget, progress=progress
        )


def _records(result: ScheduleResult) -> bytes:
    """As :func:`workers.backends.tvm.database.read_records` reads them."""
    records = [
        {"key": key, "trace": winner.trace, "seconds": winner.median_s}
        for key, winner in sorted(result.winners.items())
    ]
    return b"".join(canonical_json(record) + b"\n" for record in records)
