"""Deviation of outputs from a reference, and the deviation that a tolerance class allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from hpcfair.measurement.types import Deviation
from hpcfair.precisions import PRECISION_OF

Array = npt.NDArray[np.generic]
_Floats = npt.NDArray[np.float64]

#: Root mean square of reference outputs below which only absolute errors count.
_ZERO = 1e-6
#: Elements that are compared at once: copies in float64 take many times as much as outputs of int8
#: or float16.
_BLOCK = 2**20


class OutputMismatch(ValueError):
    """Outputs without a deviation: one is missing, or differs in shape, NaN or infinity."""


#: A build may also deviate by this multiple of the deviation of the runtime's defaults: in a badly
#: conditioned network, any other order of sums exceeds the limits. It amplifies roundings to half
#: precision likewise, so those still fail.
CONDITIONING = 4.0


def violation(
    tolerance: str, deviation: Deviation, baseline: Deviation | None = None, inputs: str = ""
) -> str | None:
    """Text of the first figure of a deviation that is beyond its limit; ``None`` if all are within.

    Args:
        tolerance: A key of :data:`hpcfair.precisions.PRECISION_OF`.
        baseline: Deviation of the runtime's defaults; ``CONDITIONING`` times it is allowed, too.
        inputs: Appended to the figure, such as `` on random inputs``.
    """
    limit = PRECISION_OF[tolerance]
    for figure in ("max_relative", "relative_l2"):
        value = getattr(deviation, figure)
        slack = CONDITIONING * getattr(baseline, figure) if baseline is not None else 0.0
        allowed = max(getattr(limit, figure), slack)
        if value > allowed:
            return f"{figure} is {value:.2g}{inputs}, {tolerance} allows {allowed:.2g}"
    return None


class OutputComparison:
    """Deviation of named outputs over any number of inputs."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sums] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compared yet."""
        return not self._sums

    def add(self, reference: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """Compare the outputs for one input. Outputs that the reference lacks are ignored.

        Raises OutputMismatch if an output is missing, differs in shape, or has NaN or infinity at
        other elements than the reference.
        """
        for name, expected in reference.items():
            if name not in outputs:
                raise OutputMismatch(f"output {name} is missing")
            self._sums.setdefault(name, _Sums()).add(name, expected, outputs[name])

    def deviation(self) -> Deviation:
        """The worst of each figure over all outputs; there must be one."""
        each = [sums.deviation() for sums in self._sums.values()]
        return Deviation(
            max_absolute=max(one.max_absolute for one in each),
            max_relative=max(one.max_relative for one in each),
            relative_l2=max(one.relative_l2 for one in each),
            cosine=min(one.cosine for one in each),
        )


@dataclass(slots=True)
class _Sums:
    """Running sums over one output for all inputs, in float64."""

    largest_error: float = 0.0
    largest_reference: float = 0.0
    error_squares: float = 0.0
    reference_squares: float = 0.0
    output_squares: float = 0.0
    products: float = 0.0
    elements: int = 0
    differing: int = 0
    is_discrete: bool = False

    def add(self, name: str, reference: Array, output: Array) -> None:
        if reference.shape != output.shape:
            raise OutputMismatch(f"{name} has shape {output.shape}, not {reference.shape}")
        self.elements += reference.size
        if reference.dtype.kind != "f":
            self.is_discrete = True
            self.differing += int(np.count_nonzero(reference != output))
            return
        flat_reference, flat_output = reference.reshape(-1), output.reshape(-1)
        for start in range(0, reference.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            self._add_block(name, flat_reference[block], flat_output[block])

    def _add_block(self, name: str, reference: Array, output: Array) -> None:
        ref, out = _finite(name, reference, output)
        error = np.abs(out - ref)
        self.largest_error = max(self.largest_error, float(error.max(initial=0.0)))
        self.largest_reference = max(self.largest_reference, float(np.abs(ref).max(initial=0.0)))
        self.error_squares += float(np.vdot(error, error))
        self.reference_squares += float(np.vdot(ref, ref))
        self.output_squares += float(np.vdot(out, out))
        self.products += float(np.vdot(ref, out))

    def deviation(self) -> Deviation:
        if self.is_discrete:
            share = self.differing / max(self.elements, 1)
            return Deviation(float(self.differing > 0), share, share, 1.0 - share)
        floor = _ZERO * sqrt(max(self.elements, 1))
        norms = sqrt(self.reference_squares * self.output_squares)
        return Deviation(
            max_absolute=self.largest_error,
            max_relative=self.largest_error / max(self.largest_reference, _ZERO),
            relative_l2=sqrt(self.error_squares) / max(sqrt(self.reference_squares), floor),
            cosine=min(self.products / norms, 1.0) if norms > floor**2 else 1.0,
        )


def _finite(name: str, reference: Array, output: Array) -> tuple[_Floats, _Floats]:
    """Both flat arrays as float64, without elements at which both are NaN or the same infinity."""
    ref, out = reference.astype(np.float64), output.astype(np.float64)
    finite = np.isfinite(ref)
    if not np.array_equal(finite, np.isfinite(out)):
        raise OutputMismatch(f"{name} is not finite where the reference is, or is where it is not")
    if not np.array_equal(ref[~finite], out[~finite], equal_nan=True):
        raise OutputMismatch(f"{name} has another NaN or infinity than the reference")
    return ref[finite], out[finite]
