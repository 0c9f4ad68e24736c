"""How far a build's outputs are from the reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hpcfair.errors import RuntimeFailed
from hpcfair.runtimes.base import Array

#: Largest (max_relative, relative_l2) of each precision class; the hub's own limits.
LIMITS: dict[str, tuple[float, float]] = {
    "exact": (1e-4, 1e-4),
    "fp16": (2e-2, 1e-2),
    "bf16": (1e-1, 8e-2),
    "int8": (5e-1, 2e-1),
}
#: How much further than the runtime's own defaults a build may stray: a badly conditioned network
#: turns any other order of sums into more than the limits above.
CONDITIONING = 4.0
#: Below this only absolute error counts.
_ZERO = 1e-6


@dataclass(frozen=True, slots=True)
class Checked:
    """How far a build's outputs are from the reference, and whether they may be."""

    deviation: dict[str, float]
    passed: bool


def check(
    tolerance: str,
    reference: Mapping[str, Array],
    baseline: Mapping[str, Array],
    outputs: Mapping[str, Array],
) -> Checked:
    """Compare the outputs of a build and of the runtime's defaults with the reference's.

    Raises:
        RuntimeFailed: as :func:`deviation`.
    """
    found = deviation(reference, outputs)
    return Checked(found, within(tolerance, found, deviation(reference, baseline)))


def deviation(reference: Mapping[str, Array], outputs: Mapping[str, Array]) -> dict[str, float]:
    """The worst of each figure over all outputs.

    ``max_absolute`` is ``max|y - ref|``, ``max_relative`` that over ``max|ref|``, ``relative_l2``
    ``||y - ref|| / ||ref||`` and ``cosine`` their angle's. Outputs that are no floating-point
    numbers count as the share of elements that differ.

    Raises:
        RuntimeFailed: an output is missing, has another shape or is not finite where the
            reference is.
    """
    each = [_deviation(name, value, outputs.get(name)) for name, value in reference.items()]
    worst = {name: max(one[name] for one in each) for name in each[0]}
    return worst | {"cosine": min(one["cosine"] for one in each)}


def within(tolerance: str, found: Mapping[str, float], baseline: Mapping[str, float]) -> bool:
    """Whether a deviation stays within the limits of its precision class.

    Args:
        baseline: How far the runtime's defaults stray.
    """
    limits = dict(zip(("max_relative", "relative_l2"), LIMITS[tolerance], strict=True))
    return all(
        found[figure] <= max(limit, CONDITIONING * baseline[figure])
        for figure, limit in limits.items()
    )


def _deviation(name: str, reference: Array, output: Array | None) -> dict[str, float]:
    if output is None or output.shape != reference.shape:
        raise RuntimeFailed(f"The build's output {name!r} is missing or has another shape.")
    if reference.dtype.kind != "f":
        share = float(np.mean(reference != output)) if reference.size else 0.0
        return _figures(float(share > 0), share, share, 1.0 - share)
    ref, out = (array.astype(np.float64).ravel() for array in (reference, output))
    fine = np.isfinite(ref)
    if not np.array_equal(fine, np.isfinite(out)):
        raise RuntimeFailed(f"The build's output {name!r} is not finite where the reference is.")
    ref, out = ref[fine], out[fine]
    gap: Any = np.abs(out - ref)
    worst = float(gap.max(initial=0.0))
    norm = float(np.linalg.norm(ref))
    norms = norm * float(np.linalg.norm(out))
    floor = _ZERO * max(ref.size, 1) ** 0.5
    return _figures(
        worst,
        worst / max(float(np.abs(ref).max(initial=0.0)), _ZERO),
        float(np.linalg.norm(gap)) / max(norm, floor),
        min(float(np.dot(ref, out)) / norms, 1.0) if norms > floor**2 else 1.0,
    )


def _figures(absolute: float, relative: float, l2: float, cosine: float) -> dict[str, float]:
    return {
        "max_absolute": absolute,
        "max_relative": relative,
        "relative_l2": l2,
        "cosine": cosine,
    }
