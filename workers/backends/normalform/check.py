"""Compares a normal form with the published file, in ONNX Runtime without optimisations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hpcfair.measurement.outputs import OutputComparison, OutputMismatch, violation
from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.engine.errors import InvalidCandidate
from workers.engine.ports import Array
from workers.engine.samples import evaluation_samples
from workers.engine.testset import make_test_set
from workers.engine.types import Network

#: Multiply-accumulates of one run above which one input must do. Other sizes, NaN and infinity are
#: checked again with each build.
_MOST_MACS = 1_000_000_000
_SEED = 0


class Unequal(Exception):
    """A normal form differs from the published file; the message says where."""


class Published:
    """The published file of a network, and its outputs on a few inputs.

    Raises InvalidCandidate if ONNX Runtime opens it or runs it on no input, or its outputs cannot
    be compared.
    """

    def __init__(self, network: Network) -> None:
        try:
            session = _session(network.model_path)
            self._runs = list(_outputs(session, network))
        # ONNX Runtime's exceptions share no base below Exception.
        except Exception as error:
            raise InvalidCandidate(f"the published file does not run: {error}") from error
        if not self._runs:
            raise InvalidCandidate("the published file runs on no input")
        self._signature = _signature(session)

    def compare(self, path: Path) -> None:
        """Compare a file with the published one. Raises Unequal."""
        try:
            session = _session(path)
        except Exception as error:
            raise Unequal(f"ONNX Runtime refuses it: {error}") from error
        if (signature := _signature(session)) != self._signature:
            raise Unequal(f"its signature is {signature}, not {self._signature}")
        comparison = OutputComparison()
        try:
            for inputs, expected in self._runs:
                comparison.add(expected, _run(session, inputs))
        except OutputMismatch as error:
            raise Unequal(str(error)) from error
        except Exception as error:
            raise Unequal(f"it does not run: {error}") from error
        if (excess := violation("exact", comparison.deviation())) is not None:
            raise Unequal(excess)


def _outputs(
    session: ort.InferenceSession, network: Network
) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """Inputs with the outputs of a session, for each input that it accepts."""
    tests = make_test_set(network, evaluation_samples(network, 1), _SEED)
    others = (*tests.extras, *(inputs for _, inputs in tests.planted))
    is_cheap = network.macs is None or network.macs <= _MOST_MACS
    for number, inputs in enumerate((tests.cases[0], *(others if is_cheap else ()))):
        try:
            yield inputs, _run(session, inputs)
        except Exception:
            # The usual inputs must run; a network may reject other sizes.
            if number == 0:
                raise


def _run(session: ort.InferenceSession, inputs: dict[str, Array]) -> dict[str, Array]:
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def _session(path: Path) -> ort.InferenceSession:
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    return ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])


def _signature(session: ort.InferenceSession) -> tuple[Any, ...]:
    """Names and element types of inputs and outputs, in order."""
    return tuple(
        tuple((value.name, value.type) for value in values)
        for values in (session.get_inputs(), session.get_outputs())
    )
