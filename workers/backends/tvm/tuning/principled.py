"""Schedules that follow principles: traits that fast schedules of an anchor share. Does not import
TVM."""

import json
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

from hpcfair.traits import Trait, holds
from workers.backends.tvm.tuning import moves
from workers.backends.tvm.tuning.evolution import Design

#: A trait, and whether a schedule should have or lack it.
Wish: TypeAlias = tuple[Trait, bool]

#: Schedules of a workload, of all searches, up to which proposals follow principles. Then the cost
#: model knows more about this workload than principles of others.
PRINCIPLED_TRIALS = 24
#: Random schedules among which those that follow most principles are chosen.
_DRAWN = 512


def wishes_by_anchor(principles: Sequence[Mapping[str, Any]]) -> dict[str, list[Wish]]:
    """Wishes by anchor; traits that this version does not have are left out."""
    wishes: dict[str, list[Wish]] = {}
    for principle in principles:
        try:
            trait = Trait.from_json(principle["trait"])
        except ValueError:
            continue
        wish = trait, bool(principle["is_wanted"])
        wishes.setdefault(str(principle["anchor"]), []).append(wish)
    return wishes


def principled(designs: Sequence[Design], wishes: Sequence[Wish], rng: Random) -> Iterator[Design]:
    """Random schedules without duplicates, those that follow most principles first.

    A principle that says nothing about a sketch counts as not followed, so that sketches are
    preferred to which the principles apply.

    Args:
        designs: One schedule of each sketch of the workload.
    """
    drawn: list[tuple[int, Design]] = []
    seen: set[str] = set()
    for _ in range(_DRAWN if designs else 0):
        sketch, decisions = rng.choice(designs)
        sampled = moves.sample(sketch, decisions, rng)
        key = f"{len(sketch)} {json.dumps(sampled)}"
        if key not in seen:
            seen.add(key)
            followed = sum(holds(trait, sketch, sampled) is has for trait, has in wishes)
            drawn.append((followed, (sketch, sampled)))
    # Stable: equals stay in random order.
    drawn.sort(key=lambda each: -each[0])
    return (design for _, design in drawn)
