"""What keeping the calling thread in place gains with ONNX Runtime as it comes.

``make bench NAME=placement [ARGS="--model squeezenet --processes 8 --blocks 12"]``. Fresh processes
take turns: in one the calling thread is free, as users have it, in the other it is kept off the
processors that ONNX Runtime pins its workers to. Each pair is measured on an idle machine and
beside one busy process: where the kernel runs the caller depends on other processes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.calm import wait
from benchmarks.networks import SAMPLES
from benchmarks.report import Figure, counted, environment, ratio, report, say, spread
from examples.models.catalogue import make
from hpcfair.formats import opener_of
from hpcfair.measurement.placement import CallerPlacement
from hpcfair.measurement.timing import time_runs
from hpcfair.runtimes import registry

#: Runs of a block, and of a process before its first block.
RUNS, WARMUP = 25, 10
#: A block is slow if its mean is this many times that of the fastest quarter of the blocks of its
#: pair of processes: other guests of the host slow down whole pairs.
SLOW = 1.3
CONDITIONS = ("idle", "busy")
_BASELINE = "the calling thread free, as ONNX Runtime leaves it"
_SPIN = "while True: pass"

#: Mean milliseconds of a run, of each block of a process with a free caller and of one with a
#: placed caller beside it in time.
Pair = tuple[Sequence[float], Sequence[float]]


def main() -> None:
    options = _options()
    facts = environment("onnxruntime", arguments=vars(options))
    pairs: dict[str, list[Pair]] = {condition: [] for condition in CONDITIONS}
    with tempfile.TemporaryDirectory(prefix="hpcfair-placement-") as folder:
        model = make(options.model, Path(folder) / "model")
        for number in range(options.processes):
            for condition in CONDITIONS:
                wait()
                with _busy_process() if condition == "busy" else nullcontext():
                    pair = process_pair(model, options.blocks, placed_first=bool(number % 2))
                pairs[condition].append(pair)
                free, placed = map(mean, pair)
                say(
                    f"{number + 1}/{options.processes}, {condition}: free {free:.2f} ms, "
                    f"placed {placed:.2f} ms"
                )
    report(
        "placement",
        figures(pairs["idle"]) | figures(pairs["busy"], suffix="_busy"),
        baseline=_BASELINE,
        environment=facts,
        details={f"{condition}_ms": pairs[condition] for condition in CONDITIONS},
    )


def figures(pairs: Sequence[Pair], *, suffix: str = "") -> dict[str, Figure]:
    """Figures of the pairs of one condition, their names ended by ``suffix``.

    The gain is a ratio of means: a user waits for all runs, and the median hides slow stretches
    that are rarer than half. Its interval is over pairs of processes.
    """
    free, placed = ([pair[side] for pair in pairs] for side in (0, 1))
    limits = [SLOW * float(np.percentile([*chain(*pair)], 25)) for pair in pairs]
    by_name = {
        "free_ms": spread(list(map(mean, free)), "ms"),
        "placed_ms": spread(list(map(mean, placed)), "ms"),
        "placed_vs_free": ratio(list(map(mean, placed)), list(map(mean, free))),
        "slow_free": _share(free, limits),
        "slow_placed": _share(placed, limits),
        "processes": counted(2 * len(pairs), "processes"),
    }
    return {f"{name}{suffix}": figure for name, figure in by_name.items()}


def _share(processes: Sequence[Sequence[float]], limits: Sequence[float]) -> Figure:
    """Share of blocks over the limit of their process; the ends are those of the best and the worst
    process."""
    each = [
        mean(ms > limit for ms in blocks) for blocks, limit in zip(processes, limits, strict=True)
    ]
    return Figure(mean(each), min(each), max(each), "share")


def process_pair(model: Path, blocks: int, *, placed_first: bool) -> Pair:
    """The blocks of a fresh process with a free caller and of one with a placed caller."""
    first = process_blocks(model, blocks, is_placed=placed_first)
    second = process_blocks(model, blocks, is_placed=not placed_first)
    return (second, first) if placed_first else (first, second)


def process_blocks(model: Path, blocks: int, *, is_placed: bool) -> list[float]:
    """Mean milliseconds of a run in each block of a fresh process."""
    command = [sys.executable, "-m", "benchmarks.placement", "--measure", str(model)]
    command += ["--blocks", str(blocks), *(["--placed"] if is_placed else [])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(ms) for ms in json.loads(done.stdout)]


def measure(model: Path, blocks: int, *, is_placed: bool) -> list[float]:
    """Mean milliseconds of a run in each block, in this process. Raises RuntimeError if the calling
    thread cannot be placed here."""
    (path,) = model.glob("*.onnx")
    runtime = registry.open("onnxruntime", path, opener_of(path).default)
    with np.load(model / SAMPLES) as samples:
        inputs = {info.name: samples[f"inputs/{info.name}"][:1] for info in runtime.inputs}
    placement = CallerPlacement(runtime) if is_placed else nullcontext()
    with placement:
        time_runs(lambda: runtime.run(inputs), WARMUP, 0)
    means: list[float] = []
    for _ in range(blocks):
        with placement:
            timing = time_runs(lambda: runtime.run(inputs), RUNS, 1)
        if isinstance(placement, CallerPlacement) and not placement.is_active:
            raise RuntimeError("the calling thread cannot be placed: too few processors")
        means.append(mean(timing.samples_ns) / 1e6)
    return means


@contextmanager
def _busy_process() -> Iterator[None]:
    """A process that computes on one processor, of the kernel's choice."""
    process = subprocess.Popen([sys.executable, "-S", "-c", _SPIN])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.placement")
    parser.add_argument("--model", default="squeezenet", help="of examples/models")
    parser.add_argument("--processes", type=int, default=10, help="pairs in each condition")
    parser.add_argument("--blocks", type=int, default=12, help="in each process")
    parser.add_argument("--quick", action="store_true", help="smoke test: two pairs")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--placed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.processes, options.blocks = 2, 2
    return options


if __name__ == "__main__":
    arguments = _options()
    if arguments.measure is None:
        main()
    else:
        blocks_ms = measure(arguments.measure, arguments.blocks, is_placed=arguments.placed)
        sys.stdout.write(json.dumps(blocks_ms))
