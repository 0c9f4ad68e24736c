"""Element types, operators and signature of a ``.tflite`` file."""

from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import HpcfairError
from hpcfair.precisions import Tolerance
from hpcfair.runtimes.base import TensorInfo
from hpcfair.runtimes.litert import open_interpreter, tensors_of
from hpcfair.runtimes.tensors import MappedTensor, write_tensors
from workers.engine.binding import Misfit, bind
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network, TensorSpec


def describe(path: Path, network: Network) -> tuple[Tolerance, dict[str, Any]]:
    """Describe a file, and write ``tensors.json`` beside it.

    Returns the tolerance that follows from its element types, and counts of operators and of
    tensors by element type as provenance. Raises InvalidCandidate if LiteRT cannot open the file,
    or its signature is not the graph's.
    """
    try:
        interpreter = open_interpreter(path, {})
        sides = (
            _mapped(tensors_of(interpreter.get_input_details()), network.inputs),
            _mapped(tensors_of(interpreter.get_output_details()), network.outputs),
        )
    except HpcfairError as error:
        raise InvalidCandidate(error.detail) from error
    except Misfit as error:
        raise InvalidCandidate(f"{path.name} is not this network: {error}") from error
    write_tensors(path.parent, *sides)
    tensors = interpreter.get_tensor_details()
    operators = [detail["op_name"] for detail in _operators(interpreter)]
    counts = {name: operators.count(name) for name in sorted(set(operators))}
    types = _element_types(tensors)
    return _tolerance(types), {"operators": counts, "tensors": types}


def _mapped(own: tuple[TensorInfo, ...], graph: tuple[TensorSpec, ...]) -> tuple[MappedTensor, ...]:
    specs = [TensorSpec(tensor.name, tensor.dtype, tensor.shape) for tensor in own]
    bindings = bind(specs, graph, resizable=True)
    return tuple(
        MappedTensor(TensorInfo(spec.name, spec.dtype, spec.shape), binding.index, binding.order)
        for spec, binding in zip(graph, bindings, strict=True)
    )


def _operators(interpreter: Any) -> list[dict[str, Any]]:
    # The only list of operators; operators that XNNPACK runs are listed again as DELEGATE.
    details: list[dict[str, Any]] = interpreter._get_ops_details()  # noqa: SLF001
    return [detail for detail in details if detail["op_name"] != "DELEGATE"]


def _element_types(tensors: list[dict[str, Any]]) -> dict[str, int]:
    """Number of tensors by element type; quantised types have the prefix ``quantised-``."""
    counts: dict[str, int] = {}
    for tensor in tensors:
        name = np.dtype(tensor["dtype"]).name
        if len(tensor["quantization_parameters"]["scales"]):
            name = f"quantised-{name}"
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def _tolerance(types: dict[str, int]) -> Tolerance:
    if any(name.startswith("quantised-") for name in types):
        return "int8"
    return "fp16" if "float16" in types else "exact"
