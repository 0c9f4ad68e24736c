"""How far outputs are from a reference, summed up over any number of inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workers.engine.errors import WrongOutput
from workers.engine.ports import Array
from workers.engine.types import Deviation

#: Outputs smaller than this are zero: below it only absolute error counts.
_ZERO = 1e-6


@dataclass(slots=True)
class Sums:
    """Running sums over one output of all test inputs, in float64."""

    worst: float = 0.0
    largest: float = 0.0
    difference: float = 0.0
    reference: float = 0.0
    other: float = 0.0
    product: float = 0.0
    elements: int = 0
    mismatches: int = 0
    discrete: bool = False

    def add(self, name: str, reference: Array, output: Array) -> None:
        if reference.shape != output.shape:
            raise WrongOutput(f"{name} has shape {output.shape}, the reference {reference.shape}")
        self.elements += reference.size
        if reference.dtype.kind != "f":
            self.discrete = True
            self.mismatches += int(np.count_nonzero(reference != output))
            return
        ref, out = _finite(name, reference, output)
        gap = np.abs(out - ref)
        self.worst = max(self.worst, float(gap.max(initial=0.0)))
        self.largest = max(self.largest, float(np.abs(ref).max(initial=0.0)))
        self.difference += float(np.vdot(gap, gap))
        self.reference += float(np.vdot(ref, ref))
        self.other += float(np.vdot(out, out))
        self.product += float(np.vdot(ref, out))

    def deviation(self) -> Deviation:
        if self.discrete:
            share = self.mismatches / max(self.elements, 1)
            return Deviation(float(self.mismatches > 0), share, share, 1.0 - share)
        floor = _ZERO * max(self.elements, 1) ** 0.5
        norms = (self.reference * self.other) ** 0.5
        return Deviation(
            max_absolute=self.worst,
            max_relative=self.worst / max(self.largest, _ZERO),
            relative_l2=self.difference**0.5 / max(self.reference**0.5, floor),
            cosine=min(self.product / norms, 1.0) if norms > floor**2 else 1.0,
        )


class Comparison:
    """Deviations of all outputs over some inputs."""

    def __init__(self) -> None:
        self.sums: dict[str, Sums] = {}

    def add(self, reference: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        for name, wanted in reference.items():
            self.sums.setdefault(name, Sums()).add(name, wanted, outputs[name])

    def deviation(self) -> Deviation:
        return _worst([each.deviation() for each in self.sums.values()])


def _finite(
    name: str, reference: Array, output: Array
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]
]:
    """Both as flat float64 without the elements that are alike NaN or alike infinite."""
    ref, out = reference.astype(np.float64).ravel(), output.astype(np.float64).ravel()
    fine = np.isfinite(ref)
    if not np.array_equal(fine, np.isfinite(out)):
        raise WrongOutput(
            f"{name} has NaN or infinity where the reference has none, or none for one"
        )
    if not np.array_equal(ref[~fine], out[~fine], equal_nan=True):
        raise WrongOutput(f"{name} has another NaN or infinity than the reference")
    return ref[fine], out[fine]


def _worst(deviations: Sequence[Deviation]) -> Deviation:
    return Deviation(
        max_absolute=max(d.max_absolute for d in deviations),
        max_relative=max(d.max_relative for d in deviations),
        relative_l2=max(d.relative_l2 for d in deviations),
        cosine=min(d.cosine for d in deviations),
    )
