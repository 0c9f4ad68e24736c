"""A published network as a PyTorch module: the published program, or converted from ONNX.

The module takes tensors in the order of the signature.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hpcfair.errors import HpcfairError, MissingPackage, NotSupported
from hpcfair.exporters.agreement import difference
from hpcfair.formats import ONNX_RUNTIME
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array
from hpcfair.seeded import seeded_inputs

_ROWS = 2
_ELSEWHERE = "Use as_='onnx'."


def module_of_program(path: Path) -> Any:
    """The module of an exported program, with the parameter names of the original.

    DANGER: PyTorch unpickles parts of the file. Open only what the hub's inspection accepted.

    Raises:
        MissingPackage: PyTorch is not installed.
        NotSupported: this PyTorch cannot read the file.
    """
    torch = _package("torch", "hpcfair[torch]")
    try:
        return torch.export.load(path).module()
    # PyTorch's exceptions share no base below Exception.
    except Exception as error:
        raise _refusal(path, error) from error


def module_of_onnx(path: Path) -> Any:
    """An ONNX network converted by ``onnx2fx``, with its floating-point weights as parameters.

    It is compared with ONNX Runtime on random inputs, since converters can be wrong.

    Raises:
        MissingPackage: PyTorch, ``onnx2fx`` or ONNX Runtime is not installed.
        NotSupported: an operator has no equivalent, or the module computes something else.
    """
    torch = _package("torch", "hpcfair[torch]")
    onnx2fx = _package("onnx2fx", "hpcfair[torch]")
    try:
        module = onnx2fx.make_trainable(onnx2fx.convert(str(path)))
    # Converters raise arbitrary exceptions.
    except Exception as error:
        raise _refusal(path, error) from error
    _check(torch, module, path)
    return module


def _check(torch: Any, module: Any, path: Path) -> None:
    runtime = registry.open(ONNX_RUNTIME.runtime, path, ONNX_RUNTIME.reference)
    try:
        inputs = seeded_inputs(runtime.inputs, _ROWS)
        expected = runtime.run(inputs)
        with torch.no_grad():
            values = module(*(torch.from_numpy(inputs[each.name]) for each in runtime.inputs))
    except HpcfairError as error:
        raise NotSupported(
            f"The module made of {path.name} cannot be checked: {error.detail}.", _ELSEWHERE
        ) from error
    except Exception as error:
        raise _refusal(path, error) from error
    finally:
        runtime.close()
    outputs = [values] if isinstance(values, torch.Tensor) else list(values)
    for (name, reference), output in zip(expected.items(), outputs, strict=True):
        if problem := _problem(output.numpy(), reference):
            raise NotSupported(
                f"The module made of {path.name} is wrong: output {name} differs {problem}.",
                _ELSEWHERE,
            )


def _problem(output: Array, reference: Array) -> str:
    if output.shape != reference.shape:
        return f"in shape: {list(output.shape)} instead of {list(reference.shape)}"
    return difference(output, np.asarray(reference))


def _refusal(path: Path, error: Exception) -> NotSupported:
    reason = " ".join(str(error).split()) or type(error).__name__
    return NotSupported(f"PyTorch cannot take {path.name}: {reason[:400]}.", _ELSEWHERE)


def _package(name: str, requirement: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(
            f"as_='torch' needs a package: {error}.",
            f"Install it with: pip install '{requirement}'",
        ) from error
