"""Bytes that a loop of a kernel touches, at most, by intervals of its buffers' indices."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from registry.kernels.interval import Interval, evaluated
from registry.kernels.syntax import name_of


@dataclass(frozen=True, slots=True)
class RegionBlock:
    """A block: the numbers of the loops around it, its axes, the buffer regions it touches."""

    loops: tuple[int, ...]
    axes: Mapping[str, ast.expr]
    regions: Sequence[ast.Subscript]


def footprint(
    blocks: Iterable[RegionBlock],
    extents: Mapping[int, tuple[str, int | None]],
    sizes: Mapping[str, int],
) -> int | None:
    """Bytes of the regions of blocks; each buffer counts once.

    Args:
        extents: Number of a loop to its name and extent, which is 1 for loops that stand still.
        sizes: Name of a buffer to the bytes of its elements.

    Returns:
        ``None`` if a region cannot be bounded, or there are no regions.
    """
    largest: dict[str, int] = {}
    for block in blocks:
        domains: dict[str, Interval | None] = {}
        for at in block.loops:
            name, extent = extents[at]
            domains[name] = None if extent is None else (0, extent - 1)
        inside = {axis: evaluated(value, domains) for axis, value in block.axes.items()}
        for region in block.regions:
            name = name_of(region.value)
            elements = _elements(region, domains | inside)
            if elements is None or not sizes.get(name):
                return None
            largest[name] = max(largest.get(name, 0), elements * sizes[name])
    return sum(largest.values()) if largest else None


def _elements(region: ast.Subscript, domains: Mapping[str, Interval | None]) -> int | None:
    """Elements of a region such as ``a[i, 0:8]``, at most."""
    parts = region.slice.elts if isinstance(region.slice, ast.Tuple) else [region.slice]
    elements = 1
    for part in parts:
        if isinstance(part, ast.Slice):
            low = evaluated(part.lower, domains) if part.lower else (0, 0)
            high = evaluated(part.upper, domains) if part.upper else None
            size = None if low is None or high is None else high[1] - low[0]
        else:
            interval = evaluated(part, domains)
            size = None if interval is None else interval[1] - interval[0] + 1
        if size is None:
            return None
        elements *= max(size, 1)
    return elements
