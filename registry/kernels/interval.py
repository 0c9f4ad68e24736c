"""Interval arithmetic over integer index expressions, as Python syntax trees."""

import ast
from collections.abc import Mapping
from typing import TypeAlias

#: Smallest and largest value.
Interval: TypeAlias = tuple[int, int]


def evaluated(node: ast.expr, domains: Mapping[str, Interval | None]) -> Interval | None:
    """The interval of an expression's values; ``None`` if it cannot be bounded.

    Args:
        domains: Interval of each name; names that are missing or ``None`` are unbounded.
    """
    bounds: Interval | None = None
    match node:
        case ast.Constant(value=int() as value):
            bounds = (value, value)
        case ast.Name(id=name):
            bounds = domains.get(name)
        # ``T.int64(8)``, ``T.Cast("int64", x)``.
        case ast.Call(func=ast.Attribute(attr="Cast"), args=[_, inner]):
            bounds = evaluated(inner, domains)
        case ast.Call(func=ast.Attribute(attr=name), args=[inner]) if name.startswith("int"):
            bounds = evaluated(inner, domains)
        case ast.Call(func=ast.Attribute(attr="min" | "max" as name), args=[left, right]):
            bounds = _extreme(name, evaluated(left, domains), evaluated(right, domains))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negated = evaluated(inner, domains)
            bounds = None if negated is None else (-negated[1], -negated[0])
        case ast.BinOp(left=left, op=operator, right=right):
            bounds = _binary(operator, evaluated(left, domains), evaluated(right, domains))
    return bounds


def _extreme(name: str, left: Interval | None, right: Interval | None) -> Interval | None:
    if left is None or right is None:
        return None
    choose = min if name == "min" else max
    return choose(left[0], right[0]), choose(left[1], right[1])


def _binary(
    operator: ast.operator, left: Interval | None, right: Interval | None
) -> Interval | None:
    if left is None or right is None:
        return None
    bounds: Interval | None = None
    match operator:
        case ast.Add():
            bounds = left[0] + right[0], left[1] + right[1]
        case ast.Sub():
            bounds = left[0] - right[1], left[1] - right[0]
        case ast.Mult():
            products = [one * other for one in left for other in right]
            bounds = min(products), max(products)
        case ast.FloorDiv() if right[0] > 0:
            quotients = [one // other for one in left for other in right]
            bounds = min(quotients), max(quotients)
        case ast.Mod() if right[0] == right[1] > 0:
            divisor = right[0]
            whole = left[0] // divisor == left[1] // divisor
            bounds = (left[0] % divisor, left[1] % divisor) if whole else (0, divisor - 1)
    return bounds
