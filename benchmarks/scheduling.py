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
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleResult
from workers.engine.types import Network, TargetSpec, canonical_json


def schedules_kept(
    name: str,
    network: Network,
    target: TargetSpec,
    seconds: float,
    kept: Path,
    passes: str = "",
) -> Path | None:
    """The file ``kept`` of schedules for a network; searched now if it does not exist.

    Args:
        passes: Pipeline whose loops are scheduled; by default the hub's.

    Returns:
        ``kept``; ``None`` if TVM rejects the network.
    """
    if kept.exists():
        return kept
    wait()
    try:
        found = _searched(name, network, target, seconds, passes)
    except CandidateFailed as error:
        say(f"{name}: no schedules: {error}")
        return None
    say(
        f"{name}: {len(found.winners)} schedules after {found.charged_trials} trials, "
        f"{found.stop_reason}"
    )
    # Written atomically: a run may be interrupted at any moment.
    draft = kept.with_suffix(".draft")
    draft.write_bytes(_records(found))
    draft.rename(kept)
    return kept


def with_schedules(network: Network, kept: Path | None) -> Network:
    """``network`` with a copy of ``kept`` beside its model, where children may read it."""
    if kept is None or not kept.stat().st_size:
        return network
    beside = network.model_path.with_name("schedules.jsonl")
    shutil.copyfile(kept, beside)
    return replace(network, schedules_path=beside)


def _searched(
    name: str, network: Network, target: TargetSpec, seconds: float, passes: str
) -> ScheduleResult:
    """Raises CandidateFailed if TVM rejects the network."""

    def progress(phase: str, done: int, total: int | None, message: str) -> None:  # noqa: ARG001
        if phase != "measure":
            say(f"{name}: {phase} {done} {message}")

    budget = ScheduleBudget(seconds=seconds)
    with TemporaryDirectory(prefix="hpcfair-schedules-") as scratch:
        tasks = tasks_of(network, target, limits=LIMITS, scratch=Path(scratch), passes=passes)
    with compiler(target, "evolution", 0, budget.batch) as made:
        return tune_schedules(tasks, made, MemoryScheduleStore(tasks), budget, progress=progress)


def _records(found: ScheduleResult) -> bytes:
    """As :func:`workers.backends.tvm.database.read_records` reads them."""
    records = [
        {"key": key, "trace": winner.trace, "seconds": winner.median_s}
        for key, winner in sorted(found.winners.items())
    ]
    return b"".join(canonical_json(record) + b"\n" for record in records)
