"""Evolution of schedules represented by their decisions. Does not import TVM.

MetaSchedule's own evolution applies and postprocesses every schedule, about 50 ms of a core each: a
batch costs as much as measuring two dozen schedules. Here thousands of schedules are drafted as
decisions and ranked by the cost model in less than a second; only the most promising are applied
and ranked again with features of their loops: draft, then verify (Pruner, arXiv 2402.02361).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from workers.backends.tvm.tuning import moves

Design = tuple[list[Any], moves.Decisions]

_POPULATION, _GENERATIONS, _ELITE = 384, 4, 48
#: Most mutations from a parent to a child.
_MOST_STEPS = 3


def draft(
    designs: Sequence[Design],
    parents: Sequence[Design],
    score: Callable[[Sequence[Design]], npt.NDArray[np.float64]],
    rng: Random,
) -> list[Design]:
    """Schedules found by evolution, without duplicates, highest score first.

    Args:
        designs: One schedule of each sketch of the workload.
        parents: The fastest measured schedules, of any of these sketches.
        score: The cost model; higher is faster.
    """
    population = {_key(design): design for design in parents}
    for _ in range(_POPULATION):
        sketch, decisions = rng.choice(designs)
        sampled = (sketch, moves.sample(sketch, decisions, rng))
        population[_key(sampled)] = sampled
    ranked: list[Design] = []
    for generation in range(_GENERATIONS + 1):
        members = list(population.values())
        order = np.argsort(-score(members), kind="stable")
        ranked = [members[index] for index in order]
        if generation == _GENERATIONS:
            break
        elite = ranked[:_ELITE]
        # Measured parents stay, whatever their predicted score.
        population = {_key(design): design for design in (*parents, *elite)}
        for _ in range(_POPULATION):
            sketch, decisions = rng.choice((*parents, *elite))
            for _ in range(rng.randint(1, _MOST_STEPS)):
                decisions = moves.mutate(sketch, decisions, rng)
            population[_key((sketch, decisions))] = (sketch, decisions)
    return ranked


def spread(ranked: Sequence[Design]) -> Iterator[Design]:
    """Schedules that differ from all better ones in at least two decisions: the cost model gives
    neighbours equal scores, and measuring many neighbours gains little."""
    selected: list[Design] = []
    for sketch, decisions in ranked:
        if all(
            len(sketch) != len(other)
            or sum(one != two for one, two in zip(decisions, decided, strict=True)) > 1
            for other, decided in selected
        ):
            selected.append((sketch, decisions))
            yield sketch, decisions


def _key(design: Design) -> str:
    sketch, decisions = design
    return f"{len(sketch)} {json.dumps(decisions)}"
