"""Do a build's outputs agree with the reference? How far they stray, and how far they may."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workers.engine.deviation import Comparison
from workers.engine.errors import CandidateFailed, WrongOutput
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

#: Classes whose builds must hand on NaN and infinity where the network itself does: whoever feeds
#: them relies on seeing them again. They may hand on more. Integers of eight bits have neither.
PROPAGATING: frozenset[Tolerance] = frozenset({"exact", "fp16", "bf16"})


@dataclass(frozen=True, slots=True)
class Checked:
    """Outputs of a build against the reference.

    Attributes:
        deviation: Over the test inputs, of all sizes.
        accuracy: Where there are labels.
        samples: Test inputs compared, or labelled rows.
        foreign: Over random inputs, where the revision's samples are the test inputs.
        lost: Where NaN or infinity did not come out although they did of the reference: what was
            planted and the output, to a byte for each element, 1 where it was lost.
        sizes: Inputs of other sizes, and random ones beside samples, that were compared.
        planted: Inputs with NaN or infinity that were compared.
    """

    deviation: Deviation
    accuracy: float | None
    samples: int
    foreign: Deviation | None = None
    lost: Mapping[str, bytes] = field(default_factory=dict)
    sizes: int = 0
    planted: int = 0


#: By name; ``None`` for an input that the reference itself refuses.
Outputs = Mapping[str, Array] | None


def run_reference(session: RunningSession, tests: TestSet) -> list[Outputs]:
    """Outputs of the reference on every input of the test set.

    Raises:
        CandidateFailed: it does not run on one of the cases.
        ValueError: it gives nothing but NaN and infinity, so nothing could be held against it.
    """
    found: list[Outputs] = [session.run(case) for case in tests.cases]
    arrays = [array for outputs in found if outputs for array in outputs.values() if array.size]
    if arrays and not any(_finite_mask(array).any() for array in arrays):
        raise ValueError("the network gives nothing but NaN and infinity on its test inputs")
    for extra in tests.runs[len(tests.cases) :]:
        try:
            found.append(session.run(extra))
        except CandidateFailed:
            found.append(None)
    return found


def check(session: RunningSession, tests: TestSet, reference: Sequence[Outputs]) -> Checked:
    """Run a build on the test set and compare.

    Raises:
        WrongOutput: an output is missing, has another shape, or has, of finite inputs, a NaN or an
            infinity where the reference has none, or the other way round.
        CandidateFailed: the session failed.
    """
    usual, foreign = Comparison(), Comparison()
    # Random inputs are not of the kind that a trained network's samples are.
    others = usual if tests.source == "random" else foreign
    lost: dict[str, bytes] = {}
    scores: list[Array] = []
    first_planted = len(tests.cases) + len(tests.extras)
    for number, (inputs, expected) in enumerate(zip(tests.runs, reference, strict=True)):
        if expected is None:
            continue
        outputs = _complete(session.run(inputs), expected)
        if number < len(tests.cases):
            usual.add(expected, outputs)
            scores.append(outputs[next(iter(expected))])
        elif number < first_planted:
            others.add(expected, outputs)
        else:
            what, _ = tests.planted[number - first_planted]
            lost |= _lost(what, expected, outputs)
    sized = reference[len(tests.cases) : first_planted]
    return Checked(
        usual.deviation(),
        accuracy(scores, tests),
        len(tests.cases) if tests.labels is None else len(tests.labels),
        foreign.deviation() if foreign.sums else None,
        lost,
        sum(outputs is not None for outputs in sized),
        sum(outputs is not None for outputs in reference[first_planted:]),
    )


def _complete(outputs: Mapping[str, Array], expected: Mapping[str, Array]) -> Mapping[str, Array]:
    for name in expected:
        if name not in outputs:
            raise WrongOutput(f"output {name} is missing")
    return outputs


def _lost(
    what: str, expected: Mapping[str, Array], outputs: Mapping[str, Array]
) -> dict[str, bytes]:
    """Outputs with finite elements where those of the reference are not."""
    masks: dict[str, bytes] = {}
    for name, wanted in expected.items():
        if outputs[name].shape != wanted.shape:
            raise WrongOutput(f"{what}: {name} has shape {outputs[name].shape}, not {wanted.shape}")
        mask = _finite_mask(outputs[name]) & ~_finite_mask(wanted)
        if mask.any():
            masks[f"{what}, {name}"] = mask.tobytes()
    return masks


def _finite_mask(array: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.isfinite(array) if array.dtype.kind == "f" else np.ones(array.shape, np.bool_)


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
    _within(tolerance, checked.deviation, baseline.deviation if baseline else None, "")
    # A quantised build is calibrated for the samples, and owes nothing to other inputs.
    if checked.foreign is not None and tolerance != "int8":
        known = baseline.foreign if baseline else None
        _within(tolerance, checked.foreign, known, " on random inputs")
    if baseline is not None and tolerance in PROPAGATING:
        for where, lost in checked.lost.items():
            # What the runtime's own defaults lose, a build may lose too.
            slack = baseline.lost.get(where, bytes(len(lost)))
            count = int(np.sum(np.frombuffer(lost, np.bool_) > np.frombuffer(slack, np.bool_)))
            if count:
                raise WrongOutput(f"{where}: lost in {count} of {len(lost)} elements")
    if checked.accuracy is not None and reference_accuracy is not None:
        floor = ACCURACY_KEPT * reference_accuracy - 1 / checked.samples
        if checked.accuracy < floor:
            raise WrongOutput(
                f"accuracy is {checked.accuracy:.4f}, the reference has {reference_accuracy:.4f}"
            )


def _within(tolerance: Tolerance, found: Deviation, baseline: Deviation | None, where: str) -> None:
    """Raises WrongOutput unless a deviation is within the class's limits, or a few of the
    baseline's."""
    limit, slack = LIMITS[tolerance], Limit(0.0, 0.0)
    if baseline is not None:
        slack = Limit(CONDITIONING * baseline.max_relative, CONDITIONING * baseline.relative_l2)
    for figure in ("max_relative", "relative_l2"):
        value = getattr(found, figure)
        allowed = max(getattr(limit, figure), getattr(slack, figure))
        if value > allowed:
            raise WrongOutput(f"{figure} is {value:.2g}{where}, {tolerance} allows {allowed:.2g}")
