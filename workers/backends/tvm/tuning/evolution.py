"""Evolution of schedules on their decisions alone. Knows no TVM.

MetaSchedule's own evolution applies every schedule it thinks of to the loop nest and postprocesses
it, about 50 ms of a core each: a batch costs as much as measuring two dozen schedules. Here a
schedule is its decisions, thousands are drafted and judged by the cost model in less than a second,
and only the most promising are applied and judged anew with all that their loops tell: draft, then
verify (Pruner, arXiv 2402.02361).
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
#: Steps from a parent to its child, at most.
_MOST_STEPS = 3


def drafted(
    designs: Sequence[Design],
    parents: Sequence[Design],
    score: Callable[[Sequence[Design]], npt.NDArray[np.float64]],
    chance: Random,
) -> list[Design]:
    """Schedules that ``score`` likes, best first, each once.

    Args:
        designs: One schedule of each sketch of the workload.
        parents: The fastest schedules measured; any of the designs' sketches.
    """
    known = {_key(design): design for design in parents}
    for _ in range(_POPULATION):
        sketch, decisions = chance.choice(designs)
        drawn = (sketch, moves.drawn(sketch, decisions, chance))
        known[_key(drawn)] = drawn
    ranked: list[Design] = []
    for generation in range(_GENERATIONS + 1):
        population = list(known.values())
        order = np.argsort(-score(population), kind="stable")
        ranked = [population[place] for place in order]
        if generation == _GENERATIONS:
            break
        elite = ranked[:_ELITE]
        # Parents that were measured stay, whatever the model has come to think of them.
        known = {_key(design): design for design in (*parents, *elite)}
        for _ in range(_POPULATION):
            sketch, decisions = chance.choice((*parents, *elite))
            for _ in range(chance.randint(1, _MOST_STEPS)):
                decisions = moves.moved(sketch, decisions, chance)
            known[_key((sketch, decisions))] = (sketch, decisions)
    return ranked


def spread(ranked: Sequence[Design]) -> Iterator[Design]:
    """The same without those that differ from a better one in one decision only.

    Trees give neighbours the same score, and a batch of neighbours teaches little.
    """
    taken: list[Design] = []
    for sketch, decisions in ranked:
        if all(
            len(sketch) != len(other)
            or sum(one != two for one, two in zip(decisions, decided, strict=True)) > 1
            for other, decided in taken
        ):
            taken.append((sketch, decisions))
            yield sketch, decisions


def _key(design: Design) -> str:
    sketch, decisions = design
    return f"{len(sketch)} {json.dumps(decisions)}"
