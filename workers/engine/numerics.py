"""Checks the outputs of a build against the reference, and against the limits of its class."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import numpy as np

from hpcfair.isolation.limits import shown
from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.measurement.types import Deviation
from hpcfair.precisions import PRECISION_OF, Tolerance
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.ports import Array, RunningSession
from workers.engine.sizes import MAX_TEST_BYTES, TensorsTooLarge, array_bytes
from workers.engine.testset import TestSet

#: Share of the reference's accuracy that a build must keep (MLPerf Inference, closed division),
#: less one sample, because a small test set cannot resolve a hundredth.
ACCURACY_KEPT = 0.99


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """Outputs of a build against the reference.

    Attributes:
        deviation: Over the test inputs, of all sizes.
        accuracy: On labelled samples, 0 to 1.
        samples: Number of test inputs compared, or of labelled rows.
        foreign: Deviation on random inputs, if the test inputs are the revision's samples.
        lost: Planted value and output to one byte per element: 1 where NaN or infinity of the
            reference is missing.
        sizes: Number of compared inputs of other sizes, and of random ones beside samples.
        planted: Number of compared inputs with NaN or infinity.
    """

    deviation: Deviation
    accuracy: float | None
    samples: int
    foreign: Deviation | None = None
    lost: Mapping[str, bytes] = field(default_factory=dict)
    sizes: int = 0
    planted: int = 0

    @property
    def random_relative_l2(self) -> float | None:
        """The error on random inputs beside samples; ``None`` if not compared."""
        return self.foreign.relative_l2 if self.foreign else None

    @property
    def figures(self) -> dict[str, float]:
        """All figures by name, as ``deviation`` of a published build."""
        on_random = self.random_relative_l2
        figures = asdict(self.deviation)
        return figures if on_random is None else {**figures, "random_relative_l2": on_random}


#: Arrays by name; ``None`` for an input that the reference itself rejects.
Outputs = Mapping[str, Array] | None


def run_reference(session: RunningSession, tests: TestSet) -> list[Outputs]:
    """Outputs of the reference on every input of the test set.

    Raises CandidateFailed if it does not run on one of the cases, TensorsTooLarge if the outputs
    take more than :data:`~workers.engine.sizes.MAX_TEST_BYTES` together, ValueError if all of them
    are NaN or infinite, so that nothing can be compared.
    """
    left = MAX_TEST_BYTES
    results: list[Outputs] = []
    for case in tests.cases:
        outputs: Outputs = session.run(case)
        results.append(outputs)
        left -= array_bytes(outputs or {})
        if left < 0:
            raise TensorsTooLarge(
                f"The outputs of {len(results)} runs take more than {shown(MAX_TEST_BYTES)}, the "
                "bound of this hub. Publish samples that are fewer or smaller."
            )
    arrays = [array for outputs in results if outputs for array in outputs.values() if array.size]
    if arrays and not any(_finite_mask(array).any() for array in arrays):
        raise ValueError("the network gives nothing but NaN and infinity on its test inputs")
    for extra in tests.runs[len(tests.cases) :]:
        try:
            outputs = session.run(extra) if left > 0 else None
        except CandidateFailed:
            outputs = None
        left -= array_bytes(outputs or {})
        # Not compared if the outputs do not fit.
        results.append(outputs if left >= 0 else None)
    return results


def check(session: RunningSession, tests: TestSet, reference: Sequence[Outputs]) -> OutputCheck:
    """Run a build on the test set and compare its outputs with the reference's.

    Raises:
        WrongOutput: an output is missing, differs in shape, or has, for finite inputs, NaN or
            infinity at other elements than the reference.
        CandidateFailed: the session failed.
    """
    usual, foreign = OutputComparison(), OutputComparison()
    # Samples of a trained network are of another kind than random inputs.
    others = usual if tests.source == "random" else foreign
    lost: dict[str, bytes] = {}
    scores: list[Array] = []
    first_planted = len(tests.cases) + len(tests.extras)
    for number, (inputs, expected) in enumerate(zip(tests.runs, reference, strict=True)):
        if expected is None:
            continue
        outputs = session.run(inputs)
        with _mismatch_is_wrong_output():
            if number < len(tests.cases):
                usual.add(expected, outputs)
                scores.append(outputs[next(iter(expected))])
            elif number < first_planted:
                others.add(expected, outputs)
            else:
                planted_value, _ = tests.planted[number - first_planted]
                lost |= _lost(planted_value, expected, outputs)
    sized = reference[len(tests.cases) : first_planted]
    return OutputCheck(
        usual.deviation(),
        accuracy(scores, tests),
        len(tests.cases) if tests.labels is None else len(tests.labels),
        None if foreign.is_empty else foreign.deviation(),
        lost,
        sum(outputs is not None for outputs in sized),
        sum(outputs is not None for outputs in reference[first_planted:]),
    )


def accuracy(scores: Sequence[Array], tests: TestSet) -> float | None:
    """Share of samples whose largest score is that of the labelled class.

    ``scores`` are the first output for each test input, ``[rows, classes]``. Returns ``None``
    without labels, or if the output is not scores of that shape.
    """
    if tests.labels is None or any(score.ndim != 2 for score in scores):
        return None
    predictions = np.concatenate([score.argmax(axis=1) for score in scores])
    if predictions.shape != tests.labels.shape:
        return None
    return float(np.mean(predictions == tests.labels))


def require(
    checked: OutputCheck,
    tolerance: Tolerance,
    baseline: OutputCheck | None,
    reference_accuracy: float | None,
) -> None:
    """Reject outputs beyond the limits of their tolerance class.

    ``baseline`` is the check of the runtime's defaults; ``None`` while these are checked
    themselves. Raises WrongOutput, which names the figure and its limit.
    """
    excess = violation(tolerance, checked.deviation, baseline.deviation if baseline else None)
    # A quantised build is calibrated for the samples: outputs for other inputs do not count. Its
    # integers have neither NaN nor infinity.
    is_quantised = PRECISION_OF[tolerance].is_quantised
    if excess is None and checked.foreign is not None and not is_quantised:
        slack = baseline.foreign if baseline else None
        excess = violation(tolerance, checked.foreign, slack, " on random inputs")
    if excess is not None:
        raise WrongOutput(excess)
    if baseline is not None and not is_quantised:
        _require_propagation(checked, baseline)
    if checked.accuracy is not None and reference_accuracy is not None:
        floor = ACCURACY_KEPT * reference_accuracy - 1 / checked.samples
        if checked.accuracy < floor:
            raise WrongOutput(
                f"accuracy is {checked.accuracy:.4f}, the reference has {reference_accuracy:.4f}"
            )


def _require_propagation(checked: OutputCheck, baseline: OutputCheck) -> None:
    """Reject a loss of NaN or infinity, unless the runtime's own defaults have it as well."""
    for where, lost in checked.lost.items():
        slack = baseline.lost.get(where, bytes(len(lost)))
        count = int(np.sum(np.frombuffer(lost, np.bool_) > np.frombuffer(slack, np.bool_)))
        if count:
            raise WrongOutput(f"{where}: lost in {count} of {len(lost)} elements")


def _lost(
    planted_value: str, expected: Mapping[str, Array], outputs: Mapping[str, Array]
) -> dict[str, bytes]:
    """Masks of the elements that are finite although those of the reference are not."""
    masks: dict[str, bytes] = {}
    for name, reference in expected.items():
        if name not in outputs:
            raise OutputMismatch(f"output {name} is missing")
        output = outputs[name]
        if output.shape != reference.shape:
            raise OutputMismatch(
                f"{planted_value}: {name} has shape {output.shape}, not {reference.shape}"
            )
        mask = _finite_mask(output) & ~_finite_mask(reference)
        if mask.any():
            masks[f"{planted_value}, {name}"] = mask.tobytes()
    return masks


def _finite_mask(array: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.isfinite(array) if array.dtype.kind == "f" else np.ones(array.shape, np.bool_)


@contextmanager
def _mismatch_is_wrong_output() -> Iterator[None]:
    try:
        yield
    except OutputMismatch as error:
        raise WrongOutput(str(error)) from error
