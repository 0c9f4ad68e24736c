"""Changes decisions of schedules, in the JSON format of TVM's traces. Does not import TVM.

A trace is ``[instructions, decisions]``; an instruction is ``[kind, inputs, attributes, outputs]``
and a decision ``[index of its instruction, value]``. Instructions with decisions:

- ``SamplePerfectTile``: factors of a loop's length, outermost first; the attributes are their
  number and the largest innermost factor.
- ``SampleCategorical``: an index into the list in its first attribute.
- ``SampleComputeLocation``: the number of a loop, -1 for the root of all loops, -2 for inlining.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import log, log2, prod
from random import Random
from typing import Any

Decisions = list[list[Any]]

_POSTPROCESSING = "EnterPostproc"
TILE, CATEGORY, LOCATION = "SamplePerfectTile", "SampleCategorical", "SampleComputeLocation"


def cut(trace: Sequence[Any]) -> tuple[list[Any], Decisions]:
    """Sketch and decisions of a trace, without its postprocessing."""
    instructions, decisions = trace
    kinds = [instruction[0] for instruction in instructions]
    end = kinds.index(_POSTPROCESSING) if _POSTPROCESSING in kinds else len(kinds)
    return list(instructions[:end]), [list(d) for d in decisions if d[0] < end]


def neighbours(sketch: Sequence[Any], decisions: Decisions) -> Iterator[Decisions]:
    """All schedules with one changed decision: a moved factor, another choice, the next loop."""
    for position, (index, value) in enumerate(decisions):
        kind, _, attributes, _ = sketch[index]
        for other in _others(kind, attributes, value):
            yield [*decisions[:position], [index, other], *decisions[position + 1 :]]


def mutate(sketch: Sequence[Any], decisions: Decisions, rng: Random) -> Decisions:
    """A random schedule with one changed decision; unchanged if there is nothing to decide."""
    positions = list(range(len(decisions)))
    rng.shuffle(positions)
    for position in positions:
        index, value = decisions[position]
        kind, _, attributes, _ = sketch[index]
        if others := list(_others(kind, attributes, value)):
            changed = [index, rng.choice(others)]
            return [*decisions[:position], changed, *decisions[position + 1 :]]
    return decisions


def sample(sketch: Sequence[Any], decisions: Decisions, rng: Random) -> Decisions:
    """A random schedule of the same sketch. Compute locations change by at most one step, because
    the available loops depend on the other decisions."""
    sampled: Decisions = []
    for index, value in decisions:
        kind, _, attributes, _ = sketch[index]
        if kind == TILE:
            other = _sample_factors(value, attributes[1], rng)
        else:
            other = rng.choice([value, *_others(kind, attributes, value)])
        sampled.append([index, other])
    return sampled


def numbers(sketch: Sequence[Any], decisions: Decisions) -> list[float]:
    """Features of decisions for a model: sketch, logarithms of tile sizes, indices of choices."""
    features = [float(len(sketch))]
    for _, value in decisions:
        features += [log2(max(1, v)) for v in value] if isinstance(value, list) else [float(value)]
    return features


def adapt(
    sketch: Sequence[Any], decisions: Decisions, to_sketch: Sequence[Any], to_decisions: Decisions
) -> Decisions | None:
    """Transfer decisions to another workload's sketch; ``None`` if their structures differ. Valid
    ``to_decisions`` of that sketch give its loop lengths."""
    if _shape_of(sketch, decisions) != _shape_of(to_sketch, to_decisions):
        return None
    result: Decisions = []
    for (index, value), (to_index, to_value) in zip(decisions, to_decisions, strict=True):
        kind, _, _, _ = sketch[index]
        most = to_sketch[to_index][2][1] if kind == TILE else 0
        result.append(
            [to_index, _similar_factors(value, prod(to_value), most) if kind == TILE else value]
        )
    return result


def _shape_of(sketch: Sequence[Any], decisions: Decisions) -> list[tuple[str, int]]:
    """Kinds of decisions, independent of loop lengths."""
    return [
        (sketch[index][0], len(value) if isinstance(value, list) else 0)
        for index, value in decisions
    ]


def _similar_factors(like: Sequence[int], length: int, most: int) -> list[int]:
    """Factors of ``length`` close to those of ``like``, the innermost at most ``most``."""
    factors = [1] * len(like)
    left = length
    for position in range(len(like) - 1, 0, -1):
        fit = [d for d in _divisors(left) if position < len(like) - 1 or d <= most]
        factors[position] = min(fit, key=lambda d: (abs(log(d / like[position])), d))
        left //= factors[position]
    factors[0] = left
    return factors


def _others(kind: str, attributes: Sequence[Any], value: Any) -> Iterator[Any]:
    if kind == TILE:
        yield from _moved_factors(value, attributes[1])
    elif kind == CATEGORY:
        yield from (n for n in range(len(attributes[0])) if n != value)
    elif kind == LOCATION:
        yield from (near for near in (value - 1, value + 1) if near >= -2)


def _moved_factors(factors: Sequence[int], most: int) -> Iterator[list[int]]:
    for source, factor in enumerate(factors):
        for prime in _primes(factor):
            for destination in range(len(factors)):
                if destination == source:
                    continue
                moved = list(factors)
                moved[source] //= prime
                moved[destination] *= prime
                if moved[-1] <= most:
                    yield moved


def _sample_factors(like: Sequence[int], most: int, rng: Random) -> list[int]:
    factors, left = [1] * len(like), prod(like)
    positions = list(range(len(like)))
    while left > 1:
        prime = _primes(left)[0]
        left //= prime
        fit = [n for n in positions if n < len(like) - 1 or factors[n] * prime <= most]
        factors[rng.choice(fit)] *= prime
    return factors


@cache
def _primes(number: int) -> list[int]:
    divisors = _divisors(number)[1:]
    return [d for d in divisors if all(d % smaller for smaller in divisors if smaller < d)]


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})
