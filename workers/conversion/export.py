"""Exports a model of transformers to ONNX, with as many dynamic dimensions as it permits."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx
import torch

from hpcfair.errors import BadInput
from hpcfair.exporters.agreement import check_agreement
from hpcfair.exporters.torch_module import quiet, write_onnx
from workers.conversion.decoder import CachedDecoder
from workers.conversion.encoderdecoder import CachedEncoderDecoder
from workers.conversion.errors import ConversionError, raise_lack_of_memory, shortened
from workers.conversion.inputs import (
    BATCH,
    Array,
    InputSpec,
    Sizes,
    arrays_of,
    long_sizes,
    short_sizes,
)
from workers.conversion.program import prepare
from workers.conversion.wrapper import Selected

NAME = "model.onnx"
#: Seed of the inputs by which the network is exported; those on which it is compared have others.
_EXPORT_SEED = 0
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Exported:
    """A network that agrees with its model.

    Attributes:
        dynamic: Names of its dynamic dimensions.
        deviation: Largest difference from PyTorch, in units of the largest value of an output.
    """

    dynamic: tuple[str, ...]
    deviation: float


def export(
    what: str, module: Selected, specs: Mapping[str, InputSpec], config: Any, folder: Path
) -> Exported:
    """Write ``model.onnx`` into ``folder``, and compare it with the model.

    The batch and the lengths of texts and sounds are dynamic. Where a model does not permit that,
    lengths are fixed, then the batch, to one row. The lengths of a decoder with a cache, which grow
    with each run, are always dynamic.

    Args:
        what: Name of the model's class, for errors.

    Raises:
        ConversionError: ``conversion_failed`` with PyTorch's reason, ``conversion_differs``.
    """
    names = sorted({name for spec in specs.values() for name in spec.axes.values()} - {BATCH})
    attempts = [{BATCH, *names}, {BATCH}, set(names), set()] if names else [{BATCH}, set()]
    if isinstance(module, CachedDecoder):
        attempts = [{BATCH, *names}, set(names)]
    first: ConversionError | None = None
    for dynamic in attempts:
        for old in folder.glob(f"{NAME}*"):
            old.unlink()
        try:
            _write(module, specs, config, dynamic, folder / NAME)
            return Exported(
                tuple(sorted(dynamic)), _compare(what, module, specs, config, dynamic, folder)
            )
        except ConversionError as error:
            # With more freedom than a model has, errors of many kinds come up.
            first = first or error
    assert first is not None  # noqa: S101  there is at least one attempt
    raise first


def _write(
    module: Selected, specs: Mapping[str, InputSpec], config: Any, dynamic: set[str], path: Path
) -> None:
    # PyTorch specialises sizes 0 and 1; two rows stand for any number.
    rows = 2 if BATCH in dynamic else 1
    tensors = _tensors(arrays_of(specs, config, long_sizes(config, rows), _EXPORT_SEED))
    free = torch.export.Dim.AUTO
    shapes = tuple(
        {axis: free for axis, name in spec.axes.items() if name in dynamic}
        for spec in specs.values()
    )
    try:
        with quiet(), torch.no_grad():
            program = torch.export.export(module, tensors, dynamic_shapes=(shapes,))
        prepare(program)
        write_onnx(program, path, module.outputs, list(specs))
    # PyTorch's exporters raise arbitrary exceptions.
    except Exception as error:
        raise_lack_of_memory(error)
        raise ConversionError(
            "conversion_failed",
            f"PyTorch {torch.__version__} does not export it to ONNX: {shortened(error)}.",
        ) from error
    _name_dimensions(path, specs, dynamic)


def _name_dimensions(path: Path, specs: Mapping[str, InputSpec], dynamic: set[str]) -> None:
    """Give dynamic dimensions their names in place of ``s77``. Raises ConversionError if one that
    should be dynamic is not."""
    model = onnx.load(path, load_external_data=False)
    names: dict[str, str] = {}
    for value in model.graph.input:
        dimensions = value.type.tensor_type.shape.dim
        for axis, name in specs[value.name].axes.items():
            if name not in dynamic:
                continue
            symbol = dimensions[axis].dim_param
            if not symbol or names.setdefault(symbol, name) != name:
                raise ConversionError(
                    "conversion_failed",
                    f"PyTorch fixed the dimension {axis} ({name}) of the input {value.name}.",
                )
    graphs = [model.graph.input, model.graph.output, model.graph.value_info]
    for value in (value for values in graphs for value in values):
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.dim_param = _SYMBOL.sub(
                    lambda symbol: names.get(symbol[0], symbol[0]), dimension.dim_param
                )
    onnx.save(model, path)


def _compare(
    what: str,
    module: Selected,
    specs: Mapping[str, InputSpec],
    config: Any,
    dynamic: set[str],
    folder: Path,
) -> float:
    """The largest deviation on inputs of several sizes, each with several rows and with one."""

    def predict(arrays: Sequence[Array]) -> list[Array]:
        with torch.no_grad():
            return [tensor.numpy() for tensor in module(*_tensors(arrays))]

    largest = 0.0
    further = None
    if isinstance(module, CachedDecoder):
        # The source of an encoder-decoder is empty behind the first run.
        further = 0 if isinstance(module, CachedEncoderDecoder) else 1
    compared = _compared_sizes(config, dynamic, further)
    for seed, sizes in enumerate(compared, _EXPORT_SEED + 1):
        examples = arrays_of(specs, config, sizes, seed)
        try:
            largest = max(largest, check_agreement(what, folder / NAME, predict, examples))
        except BadInput as error:
            raise ConversionError(
                "conversion_differs",
                f"The ONNX file that PyTorch wrote does not compute what the model does. "
                f"{error.detail}",
            ) from error
    return largest


def _compared_sizes(config: Any, dynamic: set[str], further: int | None) -> Iterator[Sizes]:
    """Sizes of the inputs on which a network is compared; a single row is compared as well.

    ``further`` is the number of words of a run behind others, of networks with a cache.
    """
    has_batch = BATCH in dynamic
    first = short_sizes if dynamic - {BATCH} else long_sizes
    yield first(config, 3 if has_batch else 1)
    usual = long_sizes(config, 2 if has_batch else 1)
    yield usual
    if further is not None:
        # One word after the others, as a text is continued.
        yield replace(usual, words=further, answer=1)


def _tensors(arrays: Iterable[Array]) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(array.copy()) for array in arrays)
