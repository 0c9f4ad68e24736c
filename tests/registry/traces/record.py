"""Records searches for schedules on this machine, for the tests of what reads them.

``python -m tests.registry.traces.record FOLDER`` searches the workloads of a network with one
convolution and one dense layer, and writes ``conv-random.json.gz`` (500 random schedules) and
``conv-search.json.gz``, ``dense-search.json.gz`` (64 trials of a search each). It needs TVM and
takes some minutes.
"""

import gzip
import json
import sys
import tempfile
from base64 import b64encode
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from hpcfair.isolation.limits import Limits
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.backends.tvm.tuning.handover import tasks_of
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleTask, ScheduleTrial
from workers.fleet.probe import this_machine
from workers.testing import networks

LIMITS = Limits(wall_s=600.0)
RANDOM, SEARCHED = 500, 64


def network() -> onnx.ModelProto:
    """A convolution of 28 x 28 pixels with 32 channels to 64, ReLU, and a dense layer."""
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((64, 32, 3, 3)) / 17,
        "b": rng.standard_normal(64),
        "dense": rng.standard_normal((64, 256)) / 8,
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["m"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["m", "dense"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "searched",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 28, 28])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256])],
        [numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def record(
    task: ScheduleTask, strategy: Literal["evolution", "random"], trials: int, scratch: Path
) -> dict[str, Any]:
    """Search one workload; returns it with its trials, oldest first."""
    scratch.mkdir()
    store = MemoryScheduleStore([task])
    budget = ScheduleBudget(
        seconds=None, trials=trials, batch=16, enough=trials, patience=trials,
        descent=0.0 if strategy == "random" else 0.2,
    )  # fmt: skip
    target = target_of(this_machine().spec)
    cores = this_machine().spec.cores
    with TvmSchedules(
        target, limits=LIMITS, scratch=scratch, strategy=strategy, batch=16, threads=cores
    ) as compiler:
        result = tune_schedules([task], compiler, store, budget)
    sketches: list[Any] = []
    rows = [_row(trial, sketches) for trial in store.own_trials()]
    described = asdict(task) | {"source": b64encode(task.source).decode()}
    winners = {key: asdict(winner) for key, winner in result.winners.items()}
    return {
        "task": described,
        "target": task.target,
        "sketches": sketches,
        "trials": rows,
        "winner": winners.get(task.key),
    }


def _row(trial: ScheduleTrial, sketches: list[Any]) -> dict[str, Any]:
    if trial.candidate.sketch not in sketches:
        sketches.append(trial.candidate.sketch)
    return {
        "number": trial.number,
        "sketch": sketches.index(trial.candidate.sketch),
        "decisions": trial.candidate.decisions,
        "proposed_by": trial.candidate.proposed_by,
        "predicted": trial.candidate.predicted,
        "outcome": trial.result.outcome,
        "failure_detail": trial.result.detail,
        "seconds": [float(f"{second:.4g}") for second in trial.result.seconds],
        "duration_s": round(trial.result.duration_s, 3),
    }


def main() -> None:
    """Record all searches into the folder that the command line names."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("model", "apart"):
            (folder / part).mkdir()
        written = networks.write(network(), folder / "model")
        here = this_machine().spec
        tasks = tasks_of(written, here, limits=LIMITS, scratch=folder / "apart")
        by_flops = sorted(tasks, key=lambda task: -task.flops)
        conv = by_flops[0]
        dense = next(task for task in tasks if "matmul" in task.anchor)
        for kind, task, strategy, trials in (
            ("conv-search", conv, "evolution", SEARCHED),
            ("dense-search", dense, "evolution", SEARCHED),
            ("conv-random", conv, "random", RANDOM),
        ):
            content = record(task, strategy, trials, folder / kind)
            data = json.dumps(content, separators=(",", ":")).encode()
            (out / f"{kind}.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
            print(kind, len(content["trials"]), "trials", len(content["sketches"]), "sketches")


if __name__ == "__main__":
    main()
