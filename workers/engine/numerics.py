"""Do a build's outputs agree with the reference? How far they stray, and how far they may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workers.engine.errors import WrongOutput
from workers.engine.ports import Array, RunningSession
from workers.engine.samples import TestSet
from workers.engine.types import Deviation, Tolerance


@dataclass(frozen=True, slots=True)
class Limit:
    """Largest deviation of a tolerance class."""

    max_relative: float
    relative_l2: float


#: ``exact`` is float32 with sums in another order: rounding of 6e-8 grows with the root of sum
#: length and depth, and ONNX Runtime's own optimisations move SqueezeNet and DenseNet-121 by 2e-6,
#: Inception v2 and ResNet-50 by 3e-5 (relative_l2, seeded weights). One rounding to TF32 or float16
#: already costs 2e-4, so a build that secretly computes in less cannot pass. ``fp16`` and ``bf16``
#: allow 20 of their roundings (4.9e-4, 3.9e-3): fifty layers walk about 7. ``int8`` only bars
#: nonsense: what it costs in accuracy, only labelled samples can tell.
LIMITS: dict[Tolerance, Limit] = {
    "exact": Limit(max_relative=1e-4, relative_l2=1e-4),
    "fp16": Limit(max_relative=2e-2, relative_l2=1e-2),
    "bf16": Limit(max_relative=1e-1, relative_l2=8e-2),
    "int8": Limit(max_relative=5e-1, relative_l2=2e-1),
}

#: How much further than the runtime's own defaults a build may stray: a badly conditioned network
#: turns any other order of sums into more than the limits above. It does the same to roundings to
#: half precision, so those do not slip through.
CONDITIONING = 4.0

#: Share of the reference's accuracy that a build must keep (MLPerf Inference, closed division),
#: less one sample, because a small test set cannot resolve a hundredth.
ACCURACY_KEPT = 0.99

#: Outputs smaller than this are zero: below it only absolute error counts.
_ZERO = 1e-6


@dataclass(frozen=True, slots=True)
class Checked:
    """Outputs of a build against the reference on ``samples`` test inputs or labelled rows;
    ``accuracy`` where there are labels."""

    deviation: Deviation
    accuracy: float | None
    samples: int


@dataclass(slots=True)
class _Sums:
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


def run_reference(session: RunningSession, tests: TestSet) -> list[dict[str, Array]]:
    """Outputs of the reference on every test input."""
    return [session.run(case) for case in tests.cases]


def check(
    session: RunningSession, tests: TestSet, reference: Sequence[Mapping[str, Array]]
) -> Checked:
    """Run a build on the test set and compare.

    Raises:
        WrongOutput: an output is missing, has another shape, or has a NaN or an infinity where
            the reference has none, or the other way round.
        CandidateFailed: the session failed.
    """
    sums: dict[str, _Sums] = {name: _Sums() for name in reference[0]}
    scores: list[Array] = []
    for case, expected in zip(tests.cases, reference, strict=True):
        outputs = session.run(case)
        for name, wanted in expected.items():
            if name not in outputs:
                raise WrongOutput(f"output {name} is missing")
            sums[name].add(name, wanted, outputs[name])
        scores.append(outputs[next(iter(expected))])
    return Checked(
        _worst([each.deviation() for each in sums.values()]),
        accuracy(scores, tests),
        len(tests.cases) if tests.labels is None else len(tests.labels),
    )


def accuracy(scores: Sequence[Array], tests: TestSet) -> float | None:
    """Share of samples whose largest score is the labelled class.

    Args:
        scores: The first output of each test input, ``[rows, classes]``.

    Returns:
        ``None`` without labels, or when the output is not scores of that shape.
    """
    if tests.labels is None or any(score.ndim != 2 for score in scores):
        return None
    predictions = np.concatenate([score.argmax(axis=1) for score in scores])
    if predictions.shape != tests.labels.shape:
        return None
    return float(np.mean(predictions == tests.labels))


def require(
    checked: Checked,
    tolerance: Tolerance,
    baseline: Checked | None,
    reference_accuracy: float | None,
) -> None:
    """Refuse outputs beyond the limits of their tolerance class.

    Args:
        baseline: What the runtime's defaults gave; ``None`` while these are judged themselves.

    Raises:
        WrongOutput: names the figure and its limit.
    """
    limit, slack = LIMITS[tolerance], Limit(0.0, 0.0)
    if baseline is not None:
        known = baseline.deviation
        slack = Limit(CONDITIONING * known.max_relative, CONDITIONING * known.relative_l2)
    for figure in ("max_relative", "relative_l2"):
        found = getattr(checked.deviation, figure)
        allowed = max(getattr(limit, figure), getattr(slack, figure))
        if found > allowed:
            raise WrongOutput(f"{figure} is {found:.2g}, {tolerance} allows {allowed:.2g}")
    if checked.accuracy is not None and reference_accuracy is not None:
        floor = ACCURACY_KEPT * reference_accuracy - 1 / checked.samples
        if checked.accuracy < floor:
            raise WrongOutput(
                f"accuracy is {checked.accuracy:.4f}, the reference has {reference_accuracy:.4f}"
            )


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
