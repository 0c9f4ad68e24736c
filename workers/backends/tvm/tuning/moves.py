"""Changing the decisions of a schedule, in the JSON that TVM writes traces in. Knows no TVM.

A trace is ``[instructions, decisions]``; an instruction is ``[kind, inputs, attributes, outputs]``
and a decision ``[index of its instruction, value]``. What is sampled:

- ``SamplePerfectTile``: the factors of a loop's length, outermost first; attributes are their
  number and the largest innermost factor.
- ``SampleCategorical``: a position in the list that is its first attribute.
- ``SampleComputeLocation``: a loop's number, -1 for the root of all loops, -2 for inlining.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import log, log2, prod
from random import Random
from typing import Any

Decisions = list[list[Any]]

_POSTPROCESSING = "EnterPostproc"
_TILE, _CATEGORY, _LOCATION = "SamplePerfectTile", "SampleCategorical", "SampleComputeLocation"


def cut(trace: Sequence[Any]) -> tuple[list[Any], Decisions]:
    """Sketch and decisions of a trace, without what postprocessing derives from them."""
    instructions, decisions = trace
    kinds = [instruction[0] for instruction in instructions]
    end = kinds.index(_POSTPROCESSING) if _POSTPROCESSING in kinds else len(kinds)
    return list(instructions[:end]), [list(d) for d in decisions if d[0] < end]


def neighbours(sketch: Sequence[Any], decisions: Decisions) -> Iterator[Decisions]:
    """Every schedule one decision away: a prime factor moved, another choice, one loop further."""
    for position, (index, value) in enumerate(decisions):
        kind, _, attributes, _ = sketch[index]
        for other in _others(kind, attributes, value):
            yield [*decisions[:position], [index, other], *decisions[position + 1 :]]


def moved(sketch: Sequence[Any], decisions: Decisions, chance: Random) -> Decisions:
    """A schedule one decision away, drawn at random; the same where nothing is to be decided."""
    places = list(range(len(decisions)))
    chance.shuffle(places)
    for place in places:
        index, value = decisions[place]
        kind, _, attributes, _ = sketch[index]
        if others := list(_others(kind, attributes, value)):
            changed = [index, chance.choice(others)]
            return [*decisions[:place], changed, *decisions[place + 1 :]]
    return decisions


def drawn(sketch: Sequence[Any], decisions: Decisions, chance: Random) -> Decisions:
    """A schedule of the same sketch with every tile and choice drawn anew, but where it computes.

    Which loops there are to compute at depends on the rest, so such decisions move a step at most.
    """
    found: Decisions = []
    for index, value in decisions:
        kind, _, attributes, _ = sketch[index]
        if kind == _TILE:
            other = _drawn_factors(value, attributes[1], chance)
        else:
            other = chance.choice([value, *_others(kind, attributes, value)])
        found.append([index, other])
    return found


def numbers(sketch: Sequence[Any], decisions: Decisions) -> list[float]:
    """A schedule's decisions for a model: which sketch, logarithms of tiles, numbers of choices."""
    found = [float(len(sketch))]
    for _, value in decisions:
        found += [log2(max(1, v)) for v in value] if isinstance(value, list) else [float(value)]
    return found


def adapted(
    sketch: Sequence[Any], decisions: Decisions, to_sketch: Sequence[Any], to_decisions: Decisions
) -> Decisions | None:
    """Decisions for another workload's sketch after the model of these; ``None`` if unlike.

    Args:
        to_decisions: Any valid ones of the other sketch: they tell how long its loops are.
    """
    if _shape_of(sketch, decisions) != _shape_of(to_sketch, to_decisions):
        return None
    result: Decisions = []
    for (index, value), (to_index, to_value) in zip(decisions, to_decisions, strict=True):
        kind, _, _, _ = sketch[index]
        most = to_sketch[to_index][2][1] if kind == _TILE else 0
        result.append([to_index, _tiled(value, prod(to_value), most) if kind == _TILE else value])
    return result


def _shape_of(sketch: Sequence[Any], decisions: Decisions) -> list[tuple[str, int]]:
    """What is decided, whatever the lengths of loops."""
    return [
        (sketch[index][0], len(value) if isinstance(value, list) else 0)
        for index, value in decisions
    ]


def _tiled(like: Sequence[int], length: int, most: int) -> list[int]:
    """Factors of ``length`` near those of ``like``, the innermost at most ``most``."""
    factors = [1] * len(like)
    left = length
    for place in range(len(like) - 1, 0, -1):
        fit = [d for d in _divisors(left) if place < len(like) - 1 or d <= most]
        factors[place] = min(fit, key=lambda d: (abs(log(d / like[place])), d))
        left //= factors[place]
    factors[0] = left
    return factors


def _others(kind: str, attributes: Sequence[Any], value: Any) -> Iterator[Any]:
    if kind == _TILE:
        yield from _moved_factors(value, attributes[1])
    elif kind == _CATEGORY:
        yield from (n for n in range(len(attributes[0])) if n != value)
    elif kind == _LOCATION:
        yield from (near for near in (value - 1, value + 1) if near >= -2)


def _moved_factors(factors: Sequence[int], most: int) -> Iterator[list[int]]:
    for source, factor in enumerate(factors):
        for prime in _primes(factor):
            for place in range(len(factors)):
                if place == source:
                    continue
                moved = list(factors)
                moved[source] //= prime
                moved[place] *= prime
                if moved[-1] <= most:
                    yield moved


def _drawn_factors(like: Sequence[int], most: int, chance: Random) -> list[int]:
    factors, left = [1] * len(like), prod(like)
    places = list(range(len(like)))
    while left > 1:
        prime = _primes(left)[0]
        left //= prime
        fit = [n for n in places if n < len(like) - 1 or factors[n] * prime <= most]
        factors[chance.choice(fit)] *= prime
    return factors


@cache
def _primes(number: int) -> list[int]:
    """The distinct prime factors."""
    divisors = _divisors(number)[1:]
    return [d for d in divisors if all(d % smaller for smaller in divisors if smaller < d)]


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})
