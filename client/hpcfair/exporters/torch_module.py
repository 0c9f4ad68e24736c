"""Exports PyTorch modules as an exported program and as ONNX."""

import copy
import inspect
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxscript  # noqa: F401  torch.onnx needs it, and would only say so half-way
import torch
from torch.utils._pytree import SequenceKey, tree_flatten_with_path, tree_leaves, tree_unflatten

from hpcfair.errors import BadInput
from hpcfair.exporters.base import Examples, Export, Files, refusal
from hpcfair.exporters.naming import BATCH, numbered
from hpcfair.runtimes.base import Array

#: Metadata with the author's local file names, which are not published.
_TRACES = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "custom")
#: Size limit of protocol buffers, 2 GiB; larger weights go to a file beside the graph.
_LARGEST_BYTES = 2**31 - 2**24
_LOGGERS = ("torch.onnx", "torch.fx.experimental.symbolic_shapes")
_TRACEABLE = (
    "Save a module that torch.export can trace and write as ONNX: torch.where or torch.cond in "
    "place of if, tensors throughout. Or export it to ONNX your own way and save the file."
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """``model.pt2`` for Inductor, and ``model.onnx`` for all other backends, of a module, an
    exported program or its file.

    The leading dimension of all inputs is dynamic, unless the module works only with the number of
    rows of the examples, which is then fixed in both files. The module is exported in evaluation
    mode; its own mode and weights are not changed.

    Raises:
        BadInput: there are no examples, they do not match the inputs, or PyTorch cannot export the
            module; with PyTorch's message.
    """
    if isinstance(model, Path):
        model = torch.export.load(model)
    if isinstance(model, torch.export.ExportedProgram):
        program = model
    else:
        model = _plain(model)
        program = exported_program(model, _tensors(model, examples))
    for node in program.graph.nodes:
        for trace in _TRACES:
            node.meta.pop(trace, None)
    pt2 = scratch / "model.pt2"
    try:
        with quiet():
            torch.export.save(program, pt2)
    # PyTorch raises arbitrary exceptions.
    except Exception as error:
        raise _refused(error) from error
    files = {"model.pt2": pt2} | onnx_files(program, scratch, _output_names(program))
    return Export(files, partial(_predict, model))


def onnx_files(
    program: torch.export.ExportedProgram,
    scratch: Path,
    outputs: Sequence[str],
    inputs: Sequence[str] | None = None,
) -> Files:
    """``model.onnx`` of a program, with ``model.onnx.data`` if its weights are large. Raises
    BadInput if PyTorch cannot write it."""
    local, data = scratch / "model.onnx", scratch / "model.onnx.data"
    try:
        write_onnx(program, local, outputs, inputs)
    # PyTorch's exporters raise arbitrary exceptions.
    except Exception as error:
        raise _refused(error) from error
    return {local.name: local} | ({data.name: data} if data.exists() else {})


def write_onnx(
    program: torch.export.ExportedProgram,
    path: Path,
    outputs: Sequence[str],
    inputs: Sequence[str] | None = None,
) -> None:
    """Write a program as the ONNX file ``path``; weights that no such file can hold are written to
    ``<path>.data``. PyTorch's exporter raises arbitrary exceptions."""
    weights = [*program.state_dict.values(), *program.constants.values()]
    size = sum(value.nbytes for value in weights if isinstance(value, torch.Tensor))
    with quiet():
        network: Any = torch.onnx.export(
            program,
            (),
            dynamo=True,
            input_names=inputs,
            output_names=outputs,
            verbose=False,
        )
        _name_batch(network.model.graph)
        network.save(path, external_data=size > _LARGEST_BYTES)


def _name_batch(graph: Any) -> None:
    """Call the leading dimension of the inputs ``N`` in the whole graph, if it is dynamic."""
    shapes = [value.shape for value in graph.inputs if value.shape]
    symbols = {str(shape[0]) for shape in shapes if not isinstance(shape[0], int)}
    if len(symbols) != 1:
        return
    (symbol,) = symbols
    results = (value for node in graph.all_nodes() for value in node.outputs)
    for value in (*graph.inputs, *graph.outputs, *results):
        for axis, size in enumerate(value.shape or ()):
            if str(size) == symbol:
                value.shape[axis] = BATCH


def _predict(model: Any, arrays: Sequence[Array]) -> list[Array]:
    if isinstance(model, torch.export.ExportedProgram):
        model = model.module()
        context: AbstractContextManager[None] = nullcontext()
    else:
        context = _inferring(model)
    with context, torch.no_grad():
        outputs = model(*(torch.from_numpy(np.array(array)) for array in arrays))
    tensors = (value for value in tree_leaves(outputs) if isinstance(value, torch.Tensor))
    # NumPy has no bfloat16.
    wide = (t.float() if t.dtype == torch.bfloat16 else t for t in tensors)
    return [tensor.numpy() for tensor in wide]


def _tensors(model: Any, examples: Examples) -> tuple[torch.Tensor, ...]:
    if not examples:
        raise BadInput(
            "A PyTorch module needs example inputs.",
            "Pass example_inputs=(x,) with arrays as the module takes them, some rows each.",
        )
    if isinstance(examples, Mapping):
        arguments = list(inspect.signature(model.forward).parameters)
        names = arguments[: len(examples)]
        if set(names) != set(examples):
            raise BadInput(
                f"The module takes {', '.join(arguments)}; example inputs are "
                f"{', '.join(examples)}.",
                "Name them as the first arguments of its forward method. To leave one out, save a "
                "module whose forward calls this one without it.",
            )
        arrays = [examples[name] for name in names]
    else:
        arrays = list(examples)
    try:
        return tuple(torch.from_numpy(np.array(array)) for array in arrays)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"The example inputs are no arrays of numbers: {error}.") from error


def exported_program(model: Any, tensors: tuple[torch.Tensor, ...]) -> torch.export.ExportedProgram:
    """A module as a program whose leading dimensions are dynamic if possible. Raises BadInput."""
    # PyTorch specialises sizes 0 and 1; two rows represent any number.
    several = tuple(t if len(t) > 1 else t.repeat(2, *[1] * (t.dim() - 1)) for t in tensors)
    batch = torch.export.Dim("N")
    shapes: Any = tuple({0: batch} for _ in tensors)
    parameters = inspect.signature(model.forward).parameters.values()
    if [each.kind for each in parameters][:1] == [inspect.Parameter.VAR_POSITIONAL]:
        shapes = (shapes,)
    with _inferring(model), quiet():
        # A fixed number of rows shows up as various errors.
        with suppress(Exception):
            return torch.export.export(model, several, dynamic_shapes=shapes)
        try:
            return torch.export.export(model, tensors)
        except Exception as error:
            raise _refused(error) from error


def _plain(model: Any) -> Any:
    """The module itself, without what compiles or distributes it, on the CPU."""
    while inner := _wrapped(model):
        model = inner
    if isinstance(model, torch.jit.ScriptModule):
        raise refusal(
            "PyTorch module",
            "it is a script, which torch.export does not take",
            "Save the module that it was made from.",
        )
    tensors = [*model.parameters(), *model.buffers()]
    if any(tensor.dtype == torch.bfloat16 for tensor in tensors):
        raise refusal(
            "PyTorch module",
            "ONNX Runtime does not compute in bfloat16",
            "Save copy.deepcopy(model).float(), which holds the same weights; the hub searches "
            "builds in narrower types itself, which load(tolerance=...) accepts.",
        )
    devices = {tensor.device.type for tensor in tensors}
    if "meta" in devices:
        raise refusal("PyTorch module", "it has no weights (device meta)", "Load its weights.")
    return model if devices <= {"cpu"} else copy.deepcopy(model).cpu()


def _wrapped(model: Any) -> Any:
    """What ``torch.compile`` or a wrapper for several devices contains; ``None`` otherwise."""
    wrappers = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    return model.module if isinstance(model, wrappers) else getattr(model, "_orig_mod", None)


@contextmanager
def _inferring(model: Any) -> Iterator[None]:
    """The module in evaluation mode; the mode of each part is restored."""
    modes = {part: part.training for part in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the exporter's warnings, which concern PyTorch's developers, from the author."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _output_names(program: torch.export.ExportedProgram) -> list[str]:
    """Keys of dictionaries and named tuples that the module returns; numbers without keys."""
    signature = program.graph_signature
    count = len(signature.user_outputs)
    tree = tree_unflatten(range(program.call_spec.out_spec.num_leaves), program.call_spec.out_spec)
    paths = [path for path, _ in tree_flatten_with_path(tree)[0]]
    names = ["_".join(map(_key, path)) for path in paths]
    keyed = all(path and not isinstance(path[0], SequenceKey) for path in paths)
    distinct = len(set(names) - set(signature.user_inputs)) == len(names) == count
    return names if keyed and distinct else numbered("output", count)


def _key(key: Any) -> str:
    return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", ""))))


def _refused(error: Exception) -> BadInput:
    reason = f"{type(error).__name__}: {_COLOURS.sub('', str(error))}"
    return refusal("PyTorch module", reason, _TRACEABLE)
