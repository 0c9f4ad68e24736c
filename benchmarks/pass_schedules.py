"""Operator schedules for the networks of the benchmark ``passes``, which then compares tuned code.

``python -m benchmarks.pass_schedules FOLDER [--seconds 200] [--networks resnet18,bert_2]``. Each
network is searched for so long, as the hub does it in the background; ``FOLDER/NAME.jsonl`` is what
``make bench NAME=passes ARGS="--schedules FOLDER"`` takes. Networks that have theirs are left
alone, so an interrupted run goes on with the next.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.calm import wait
from benchmarks.layers import LIMITS, compiler
from benchmarks.pass_subjects import QUICK, SUBJECTS, Subject
from benchmarks.report import say
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleResult
from workers.engine.types import TargetSpec, Workload, canonical_json
from workers.fleet.probe import this_machine


def main() -> None:
    """Search those that have no schedules yet."""
    options = _options()
    here = this_machine().spec
    options.folder.mkdir(parents=True, exist_ok=True)
    for subject in _chosen(options):
        kept = options.folder / f"{subject.name}.jsonl"
        if kept.exists():
            continue
        wait()
        try:
            found = _searched(subject.make(options.cache), here, options.seconds)
        except CandidateFailed as error:
            say(f"{subject.name}: {error}")
            continue
        say(f"{subject.name}: {len(found.winners)} schedules after {found.charged} trials")
        # Whole or not at all: a run may be stopped at any moment.
        draft = kept.with_suffix(".draft")
        draft.write_bytes(_records(found))
        draft.rename(kept)


def _searched(workload: Workload, here: TargetSpec, seconds: float) -> ScheduleResult:
    """Raises CandidateFailed where TVM cannot take the network."""
    budget = ScheduleBudget(seconds=seconds)
    with TemporaryDirectory(prefix="hpcfair-schedules-") as scratch:
        tasks = tasks_of(workload, here, limits=LIMITS, scratch=Path(scratch))
    with compiler(here, "evolution", 0, budget.batch) as made:
        return tune_schedules(tasks, made, MemoryScheduleStore(tasks), budget, progress=_progress)


def _records(found: ScheduleResult) -> bytes:
    """As :func:`workers.backends.tvm.database.read_records` reads them."""
    records = [
        {"key": key, "trace": winner.trace, "seconds": winner.median_s}
        for key, winner in sorted(found.winners.items())
    ]
    return b"".join(canonical_json(record) + b"\n" for record in records)


def _progress(phase: str, done: int, total: int | None, message: str) -> None:  # noqa: ARG001
    if phase != "measure":
        say(f"  {phase} {done} {message}")


def _chosen(options: argparse.Namespace) -> list[Subject]:
    every = {subject.name: subject for subject in (*QUICK, *SUBJECTS)}
    if options.networks is None:
        return list(SUBJECTS)
    return [every[name] for name in options.networks.split(",")]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.pass_schedules", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", help="by default all of the benchmark")
    parser.add_argument("--seconds", type=float, default=200.0, help="of each network")
    parser.add_argument("--cache", type=Path, default=Path(".bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
