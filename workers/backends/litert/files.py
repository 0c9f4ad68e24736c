"""A ``.tflite`` file as a build: what it computes in, and which tensors of the graph it has."""

from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import HpcfairError
from hpcfair.precisions import Tolerance
from hpcfair.runtimes.base import Tensor
from hpcfair.runtimes.litert import open_interpreter, tensors_of
from hpcfair.runtimes.tensors import Mapped, write_tensors
from workers.engine.binding import Misfit, bind
from workers.engine.errors import InvalidCandidate
from workers.engine.types import Network, TensorSpec


def describe(path: Path, network: Network) -> tuple[Tolerance, dict[str, Any]]:
    """Write beside the file which tensors of the graph its own stand for.

    Returns:
        The tolerance its element types call for, and provenance: operators, and element types of
        its tensors with their numbers.

    Raises:
        InvalidCandidate: LiteRT cannot open it, or its signature is not the graph's.
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


def _mapped(own: tuple[Tensor, ...], graph: tuple[TensorSpec, ...]) -> tuple[Mapped, ...]:
    specs = [TensorSpec(tensor.name, tensor.dtype, tensor.shape) for tensor in own]
    bindings = bind(specs, graph, resizable=True)
    return tuple(
        Mapped(Tensor(spec.name, spec.dtype, spec.shape), binding.index, binding.order)
        for spec, binding in zip(graph, bindings, strict=True)
    )


def _operators(interpreter: Any) -> list[dict[str, Any]]:
    # The only list of operators there is; what XNNPACK took over follows as DELEGATE.
    found: list[dict[str, Any]] = interpreter._get_ops_details()  # noqa: SLF001
    return [detail for detail in found if detail["op_name"] != "DELEGATE"]


def _element_types(tensors: list[dict[str, Any]]) -> dict[str, int]:
    """Element type to number of tensors; integers that stand for reals are ``quantised-``."""
    found: dict[str, int] = {}
    for tensor in tensors:
        name = np.dtype(tensor["dtype"]).name
        if len(tensor["quantization_parameters"]["scales"]):
            name = f"quantised-{name}"
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def _tolerance(types: dict[str, int]) -> Tolerance:
    if any(name.startswith("quantised-") for name in types):
        return "int8"
    return "fp16" if "float16" in types else "exact"
