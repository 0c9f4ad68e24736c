"""What keeping the calling thread in place gains with ONNX Runtime as it comes.

``make bench NAME=placement [ARGS="--model squeezenet --processes 8 --blocks 12"]``. In fresh
processes, blocks of runs of one session take turns: the calling thread free, as users have it, and
kept off the processors that ONNX Runtime pins its workers to. The blocks of one process share its
memory and threads, and adjacent ones the state of the machine.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median

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
#: A block is slow if its median is this many times that of the fastest quarter of all blocks.
SLOW = 1.3
_BASELINE = "the calling thread free, as ONNX Runtime leaves it"

#: Median milliseconds of a free block and of the placed block beside it.
Pair = tuple[float, float]


def main() -> None:
    options = _options()
    facts = environment("onnxruntime", arguments=vars(options))
    with tempfile.TemporaryDirectory(prefix="hpcfair-placement-") as folder:
        model = make(options.model, Path(folder) / "model")
        processes = []
        for number in range(options.processes):
            wait()
            processes.append(process_pairs(model, options.blocks))
            free, placed = zip(*processes[-1], strict=True)
            say(
                f"process {number + 1}/{options.processes}: free {median(free):.2f} ms, "
                f"placed {median(placed):.2f} ms"
            )
    report(
        "placement",
        figures(processes),
        baseline=_BASELINE,
        environment=facts,
        details={"pairs_ms": processes},
    )


def figures(processes: Sequence[Sequence[Pair]]) -> dict[str, Figure]:
    """Figures of the pairs of all processes.

    The gain is a ratio of means: a user waits for all runs, and the median hides slow stretches
    that are rarer than half. Its interval is over processes, as is that of the share.
    """
    pairs = [pair for process in processes for pair in process]
    free, placed = ([pair[side] for pair in pairs] for side in (0, 1))
    limit = SLOW * float(np.percentile([*free, *placed], 25))
    means = [np.mean(process, axis=0) for process in processes]
    return {
        "free_ms": spread(free, "ms"),
        "placed_ms": spread(placed, "ms"),
        "placed_vs_free": ratio([m[1] for m in means], [m[0] for m in means]),
        "slow_free": _share([[ms > limit for ms, _ in process] for process in processes]),
        "slow_placed": _share([[ms > limit for _, ms in process] for process in processes]),
        "blocks": counted(len(pairs), "pairs of blocks"),
    }


def _share(is_slow: Sequence[Sequence[bool]]) -> Figure:
    """Share of slow blocks; the ends are those of the best and the worst process."""
    each = [float(np.mean(blocks)) for blocks in is_slow]
    return Figure(float(np.mean(each)), min(each), max(each), "share")


def process_pairs(model: Path, blocks: int) -> list[Pair]:
    """The pairs of a fresh process."""
    command = [sys.executable, "-m", "benchmarks.placement", "--measure", str(model)]
    done = subprocess.run(
        [*command, "--blocks", str(blocks)], check=True, capture_output=True, text=True
    )
    return [(free, placed) for free, placed in json.loads(done.stdout)]


def measure(model: Path, blocks: int) -> list[Pair]:
    """Pairs of blocks in this process, free and placed first in turn. Raises RuntimeError if the
    calling thread cannot be placed here."""
    (path,) = model.glob("*.onnx")
    runtime = registry.open("onnxruntime", path, opener_of(path).default)
    with np.load(model / SAMPLES) as samples:
        inputs = {info.name: samples[f"inputs/{info.name}"][:1] for info in runtime.inputs}
    placement = CallerPlacement(runtime)
    with placement:
        time_runs(lambda: runtime.run(inputs), WARMUP, 0)

    def block(*, is_placed: bool) -> float:
        with placement if is_placed else nullcontext():
            timing = time_runs(lambda: runtime.run(inputs), RUNS, 1)
        if is_placed and not placement.is_active:
            raise RuntimeError("the calling thread cannot be placed: too few processors")
        return median(timing.samples_ns) / 1e6

    pairs: list[Pair] = []
    for number in range(blocks):
        first = block(is_placed=bool(number % 2))
        second = block(is_placed=not number % 2)
        pairs.append((second, first) if number % 2 else (first, second))
    return pairs


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.placement")
    parser.add_argument("--model", default="squeezenet", help="of examples/models")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=12, help="pairs in each process")
    parser.add_argument("--quick", action="store_true", help="smoke test: two processes")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.processes, options.blocks = 2, 2
    return options


if __name__ == "__main__":
    arguments = _options()
    if arguments.measure is None:
        main()
    else:
        sys.stdout.write(json.dumps(measure(arguments.measure, arguments.blocks)))
