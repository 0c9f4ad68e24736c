"""Several networks as one, in which each takes the outputs of the one before it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hpcfair import pid
from hpcfair.cache import Cache
from hpcfair.errors import BadInput, HpcfairError, NoModelFile
from hpcfair.exporters.agreement import difference
from hpcfair.formats import ONNX_RUNTIME
from hpcfair.forms import open_onnx, required_onnx
from hpcfair.loading import fetch
from hpcfair.localfiles import local_files
from hpcfair.runtimes import registry
from hpcfair.runtimes.base import Array, Runtime, TensorInfo
from hpcfair.seeded import seeded_inputs
from hpcfair.signature import Signature
from hpcfair.transport import Transport

_ROWS = 2


@dataclass(frozen=True, slots=True)
class Composition:
    """Several networks as one; publish it by :meth:`hpcfair.Client.save`.

    Attributes:
        model: The network, an ``onnx.ModelProto``.
        signature: The inputs of the first network and the outputs of the last one.
        base_models: The published networks in it, ``namespace/name@commit``.
    """

    model: Any
    signature: Signature
    base_models: tuple[str, ...]

    @property
    def lineage(self) -> dict[str, Any]:
        """The lines of a card that name the published networks."""
        if not self.base_models:
            return {}
        return {"base_model": list(self.base_models), "base_model_relation": "merge"}


@dataclass(frozen=True, slots=True)
class _Part:
    """A network, opened without optimisations."""

    name: str
    proto: Any
    runtime: Runtime


def compose(http: Transport, cache: Cache, models: Sequence[Any]) -> Composition:
    """See :meth:`hpcfair.Client.compose`."""
    if isinstance(models, str) or len(models) < 2:
        raise BadInput("compose() takes a list of at least two models.")
    with (
        local_files(None, "TMPDIR"),
        TemporaryDirectory(prefix="hpcfair-") as folder,
        ExitStack() as opened,
    ):
        parts, bases = [], []
        for number, model in enumerate(models):
            path, name, base = _file_of(http, cache, model, Path(folder) / f"{number}.onnx")
            runtime = _open(path)
            opened.callback(runtime.close)
            parts.append(_Part(f"{name} (model {number + 1})", open_onnx(path), runtime))
            bases += [base] if base else []
        links = [_links(one, other) for one, other in pairwise(parts)]
        # Imports onnx, which open_onnx() has found.
        merge = import_module("hpcfair.graphmerge").merge
        try:
            proto = merge([part.proto for part in parts], links)
            joined = Path(folder) / "joined.onnx"
            joined.write_bytes(proto.SerializeToString())
        # onnx raises arbitrary exceptions.
        except Exception as error:
            reason = " ".join(str(error).split())[:400]
            raise BadInput(f"The networks cannot be joined: {reason}.") from error
        runtime = _open(joined)
        opened.callback(runtime.close)
        _check(parts, links, runtime)
        return Composition(
            proto, Signature(runtime.inputs, runtime.outputs), tuple(dict.fromkeys(bases))
        )


def _open(path: Path) -> Runtime:
    return registry.open(ONNX_RUNTIME.runtime, path, ONNX_RUNTIME.reference)


def _file_of(
    http: Transport, cache: Cache, model: Any, scratch: Path
) -> tuple[Path, str, str | None]:
    """The file of a network, its name for errors, and ``name@commit`` if it is published."""
    if isinstance(model, str):
        name, _, revision = model.partition("@")
        name, commit = pid.locate(http, cache, name, revision or None)
        fetched = fetch(http, cache, name, revision=commit, target=None)
        base = f"{name}@{fetched.resolution.revision}"
        return required_onnx(fetched.path), name, base
    if isinstance(model, Path):
        if not model.is_file():
            raise NoModelFile(f"There is no file {model}.")
        return required_onnx(model), model.name, None
    if hasattr(model, "SerializeToString"):
        scratch.write_bytes(model.SerializeToString())
        return scratch, model.graph.name or "an ONNX network", None
    raise BadInput(
        f"compose() takes no {type(model).__name__}.",
        "It takes names of models, paths of ONNX files, and onnx.ModelProto.",
    )


def _links(one: _Part, other: _Part) -> list[tuple[TensorInfo, TensorInfo]]:
    """Which output becomes which input: by name if all inputs have the name of an output, else in
    order. Raises BadInput if they do not fit."""
    outputs, inputs = one.runtime.outputs, other.runtime.inputs
    by_name = {tensor.name: tensor for tensor in outputs}
    if all(tensor.name in by_name for tensor in inputs):
        links = [(by_name[tensor.name], tensor) for tensor in inputs]
    elif len(outputs) == len(inputs):
        links = list(zip(outputs, inputs, strict=True))
    else:
        raise BadInput(
            f"{one.name} gives {_named(outputs)}; {other.name} takes {_named(inputs)}.",
            "Each input needs an output of its name, or there must be as many outputs as inputs.",
        )
    free = {size for tensor in one.runtime.inputs for size in tensor.shape} - {"?"}
    for source, sink in links:
        if problem := _misfit(source, sink, free):
            raise BadInput(
                f"Output {source.name!r} of {one.name} is {source}, input {sink.name!r} of "
                f"{other.name} takes {sink}: {problem}."
            )
    return links


def _misfit(source: TensorInfo, sink: TensorInfo, free: set[int | str]) -> str:
    """Why an output cannot be an input; empty if it can. ``free`` sizes are those of inputs."""
    if source.dtype != sink.dtype:
        return "the element types differ"
    if len(source.shape) != len(sink.shape):
        return "the numbers of dimensions differ"
    for axis, (have, want) in enumerate(zip(source.shape, sink.shape, strict=True)):
        # An open size that no input has may well turn out to be the right one.
        if isinstance(want, int) and have != want and (isinstance(have, int) or have in free):
            return f"dimension {axis} is {have}, not {want}"
    return ""


def _check(
    parts: Sequence[_Part],
    links: Sequence[Sequence[tuple[TensorInfo, TensorInfo]]],
    joined: Runtime,
) -> None:
    """Compare the network with its parts run one after another on random inputs. Raises BadInput
    if they differ."""
    inputs = seeded_inputs(parts[0].runtime.inputs, _ROWS)
    values = _run(parts[0], inputs)
    for part, pairs in zip(parts[1:], links, strict=True):
        values = _run(part, {sink.name: values[source.name] for source, sink in pairs})
    names = [tensor.name for tensor in joined.inputs]
    outputs = joined.run(dict(zip(names, inputs.values(), strict=True)))
    for (name, expected), output in zip(values.items(), outputs.values(), strict=True):
        if output.shape != expected.shape or (problem := difference(output, expected)):
            how = "in shape" if output.shape != expected.shape else problem
            raise BadInput(f"Output {name!r} of the joined network differs {how}.")


def _run(part: _Part, inputs: Mapping[str, Array]) -> dict[str, Array]:
    try:
        return part.runtime.run(inputs)
    except HpcfairError as error:
        raise BadInput(f"{part.name} does not run on random inputs: {error.detail}.") from error


def _named(tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(f"{tensor.name}: {tensor}" for tensor in tensors)
