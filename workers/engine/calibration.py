"""Inputs on which a quantiser finds the ranges of a network's tensors."""

from typing import Literal

from workers.engine.ports import Array
from workers.engine.samples import fixed_batch, held_out_samples, make_test_set, random_inputs
from workers.engine.types import Workload

#: Ranges settle after few inputs, and every input costs a run without optimisations.
_RUNS = 16
_SEED = 20_260_101


def calibration_inputs(
    workload: Workload,
) -> tuple[list[dict[str, Array]], Literal["samples", "random"]]:
    """Inputs of a few runs, and where they come from.

    Parses a stranger's file: call it in a limited child process only.

    Raises:
        ValueError: the samples do not fit the graph, or a dtype has no random values.
    """
    path = workload.samples_path
    if path is None:
        return [random_inputs(workload, seed) for seed in range(_SEED, _SEED + _RUNS)], "random"
    # Builds must not be fitted to what judges them; where there are few rows, they are.
    tests = make_test_set(workload, held_out_samples(path, fixed_batch(workload)), _SEED)
    return list(tests.cases[:_RUNS]), tests.source
