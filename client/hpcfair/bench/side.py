"""One side of a comparison, in a process of its own: ``python -m hpcfair.bench.side``.

Speaks JSON lines on standard input and output::

    -> {"runtime": ..., "path": ..., "options": ..., "inputs": <.npz>}    <- {"ready": true}
    -> {"time": {"runs": n, "warmup": m}}                                 <- {"samples_ns": [...]}
    -> {"run": <.npz to write the outputs to>}                            <- {"done": true}

Whatever goes wrong is answered as ``{"error": ...}``. End of input ends the process.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hpcfair.bench.quiet import wait_until_quiet
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array, Runtime


def time_runs(runtime: Runtime, inputs: dict[str, Array], runs: int, warmup: int) -> list[int]:
    """Nanoseconds of ``runs`` consecutive runs, after ``warmup`` untimed ones.

    Returns when the runtime's threads have come to rest: the other side is timed next.
    """
    for _ in range(warmup):
        runtime.run(inputs)
    samples = []
    gc.disable()
    for _ in range(runs):
        start = time.perf_counter_ns()
        runtime.run(inputs)
        samples.append(time.perf_counter_ns() - start)
    gc.enable()
    wait_until_quiet()
    return samples


def _answer(state: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    if "runtime" in request:
        with np.load(request["inputs"], allow_pickle=False) as archive:
            state["inputs"] = {name: archive[name] for name in archive.files}
        state["runtime"] = registry.open(
            request["runtime"], Path(request["path"]), request["options"]
        )
        return {"ready": True}
    if "time" in request:
        return {"samples_ns": time_runs(state["runtime"], state["inputs"], **request["time"])}
    np.savez(request["run"], **state["runtime"].run(state["inputs"]))
    return {"done": True}


def serve(requests: TextIO, replies: TextIO) -> None:
    """Answer until the requests end."""
    state: dict[str, Any] = {}
    for line in requests:
        try:
            reply = _answer(state, json.loads(line))
        # The other end turns it into its own error.
        except Exception as error:  # noqa: BLE001
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    # What a runtime prints must not end up between the replies.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)
