"""The process of one side of a comparison: ``python -m hpcfair.bench.side``.

Speaks JSON lines on standard input and output::

    -> {"runtime": ..., "path": ..., "options": ..., "inputs": <.npz>}    <- {"ready": true}
    -> {"query": {"samples": n, "batch": m, "streams": k}}                <- {"done": true}
    -> {"time": {"runs": n, "warmup": m}}                                 <- a timing, as fields
    -> {"rest": true}                                                     <- {"done": true}
    -> {"run": <.npz to write the outputs to>}                            <- {"done": true}

An error is answered as ``{"error": ...}``. End of input ends the process.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hpcfair.measurement.placement import CallerPlacement
from hpcfair.measurement.query import QueryRunner, batches_of
from hpcfair.measurement.streams import copy_of
from hpcfair.measurement.timing import time_runs, wait_until_idle
from hpcfair.runtimes import registry


def _answer(state: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    if "runtime" in request:
        with np.load(request["inputs"], allow_pickle=False) as archive:
            state["inputs"] = {name: archive[name] for name in archive.files}
        state["open"] = partial(
            registry.open, request["runtime"], Path(request["path"]), request["options"]
        )
        state["runtime"] = state["open"]()
        state["run"] = partial(state["runtime"].run, state["inputs"])
        state["placement"] = CallerPlacement(state["runtime"])
        return {"ready": True}
    if "query" in request:
        state["run"] = _query(state, **request["query"])
        return {"done": True}
    if "time" in request:
        with state["placement"] as placement:
            timing = time_runs(state["run"], **request["time"])
        return asdict(replace(timing, caller_placed=placement.is_active))
    if "rest" in request:
        wait_until_idle()
        return {"done": True}
    np.savez(request["run"], **state["runtime"].run(state["inputs"]))
    return {"done": True}


def _query(state: dict[str, Any], samples: int, batch: int, streams: int) -> Callable[[], None]:
    """A run of a query. If the first dimension is fixed at several rows, or is no batch, a sample
    is one whole input."""
    runtime, inputs = state["runtime"], state["inputs"]
    copies = QueryRunner(runtime, lambda: copy_of(runtime, state["open"]), streams)
    leading = [each.shape[0] if each.shape else 0 for each in runtime.inputs]
    by_row = all(isinstance(size, str) or size == 1 for size in leading)
    batches = batches_of(inputs, samples, batch) if by_row else [inputs] * samples
    return partial(copies.run, batches)


def serve(requests: TextIO, replies: TextIO) -> None:
    """Answer requests until end of input."""
    state: dict[str, Any] = {}
    for line in requests:
        try:
            reply = _answer(state, json.loads(line))
        except Exception as error:  # noqa: BLE001
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    # A runtime may print to descriptor 1, which must hold replies only.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)
