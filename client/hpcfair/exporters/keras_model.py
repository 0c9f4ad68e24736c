"""Exports models of Keras 3 on each of its backends."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx

from hpcfair.errors import BadInput, MissingPackage
from hpcfair.exporters.base import Examples, Export, Files
from hpcfair.exporters.naming import named_inputs, numbered, rename
from hpcfair.runtimes.base import Array

#: Backend to the package that writes ONNX.
_CONVERTERS = {"jax": "jax2onnx", "tensorflow": "tf2onnx", "torch": "onnxscript"}


def export(model: Any, examples: Examples, scratch: Path) -> Export:
    """``model.onnx``, by tf2onnx on TensorFlow, by PyTorch's exporter, by jax2onnx on JAX.

    Inputs have the names of the model's ``Input`` layers or of the examples; outputs have the keys
    of a dictionary or the names that the author gave to the last layers.
    """
    if not examples:
        raise BadInput(
            "A Keras model needs example inputs.",
            "Pass example_inputs=(x,) with arrays as the model takes them, some rows each.",
        )
    converter = _CONVERTERS.get(keras.backend.backend())
    if converter and find_spec(converter) is None:
        raise MissingPackage(
            f"Keras exports models on {keras.backend.backend()} with {converter}, which is not "
            "installed.",
            f"Install it with: pip install {converter}",
        )
    arrays = named_inputs(examples, _input_names(model))
    call = partial(_call, model, list(arrays))

    def predict(batch: Sequence[Array]) -> list[Array]:
        return [np.asarray(keras.ops.convert_to_numpy(value)) for value in _flat(call(batch))]

    # A model that was never called has no weights yet.
    names = _output_names(model, call([array[:1] for array in arrays.values()]))

    def flat(*batch: Any) -> list[Any]:
        return _flat(call(batch))

    match keras.backend.backend():
        case "torch":
            return Export(_torch_files(model, flat, arrays, names, scratch), predict)
        case "jax":
            from hpcfair.exporters.jax_function import export_function  # noqa: PLC0415  optional

            files = export_function(flat, arrays, scratch).files
        case _:
            files = _tensorflow_files(model, arrays, scratch)
    local = files["model.onnx"]
    proto = onnx.load(local)
    rename(proto, list(arrays), names)
    onnx.save(proto, local)
    return Export(files, predict)


def _torch_files(
    model: Any,
    call: Callable[..., list[Any]],
    arrays: Mapping[str, Array],
    outputs: Sequence[str],
    scratch: Path,
) -> Files:
    """By PyTorch's exporter, because Keras uses its predecessor, which lacks operators."""
    import torch  # noqa: PLC0415  only on this backend

    from hpcfair.exporters.torch_module import exported_program, onnx_files  # noqa: PLC0415

    class Call(torch.nn.Module):
        """Has the weights of the model, and calls it with its structure of inputs."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *batch: Any) -> list[Any]:
            return call(*batch)

    tensors = tuple(torch.from_numpy(np.array(array)) for array in arrays.values())
    return onnx_files(exported_program(Call(), tensors), scratch, outputs, list(arrays))


def _tensorflow_files(model: Any, arrays: Mapping[str, Array], scratch: Path) -> Files:
    local = scratch / "model.onnx"
    specs = {
        name: keras.InputSpec(
            dtype=np.dtype(array.dtype).name, shape=(None, *array.shape[1:]), name=name
        )
        for name, array in arrays.items()
    }
    signature = [_structured(model, specs)]
    model.export(str(local), format="onnx", verbose=False, input_signature=signature)
    return {"model.onnx": local}


def _call(model: Any, names: Sequence[str], batch: Sequence[Any]) -> Any:
    return model(_structured(model, dict(zip(names, batch, strict=True))), training=False)


def _structured(model: Any, values: dict[str, Any]) -> Any:
    """The values as the model takes them: one, by name, or as a list."""
    if isinstance(getattr(model, "_inputs_struct", None), dict):
        return values
    return next(iter(values.values())) if len(values) == 1 else list(values.values())


def _flat(outputs: Any) -> list[Any]:
    flat: list[Any] = keras.tree.flatten(outputs)
    return flat


def _input_names(model: Any) -> list[str]:
    names = [tensor.name for tensor in getattr(model, "inputs", None) or ()]
    made_up = any(re.fullmatch(r"(keras_tensor|input_layer)(_\d+)?", name) for name in names)
    return numbered("input", len(names)) if made_up else names


def _output_names(model: Any, outputs: Any) -> list[str]:
    count = len(_flat(outputs))
    if isinstance(outputs, dict) and len(outputs) == count:
        # Keras flattens dictionaries in the order of their keys.
        return sorted(outputs)
    names = list(getattr(model, "output_names", None) or ())
    if isinstance(model, keras.Sequential):
        names = [model.layers[-1].name]
    layers = {layer.name: type(layer).__name__ for layer in model.layers}
    named = len(names) == count == len(set(names)) and not any(
        _is_made_up(name, layers.get(name, "")) for name in names
    )
    return names if named else numbered("output", count)


def _is_made_up(name: str, kind: str) -> bool:
    """Whether Keras called a layer after its class, and numbered it."""
    return re.sub(r"_\d+$", "", name).replace("_", "") == kind.lower()
