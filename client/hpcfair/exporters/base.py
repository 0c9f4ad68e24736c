"""What exporters take and return, and how they refuse."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcfair.errors import BadInput
from hpcfair.exporters.frames import matrix
from hpcfair.runtimes.base import Array

Files = dict[str, Path]
Examples = Sequence[Array] | Mapping[str, Array] | None
#: Output of a live object; ``None`` where it has no method that computes this one.
Outputs = Sequence[Array | None]
#: Computes the outputs of ``model.onnx`` with a live object, in their order, from arrays in the
#: order of its inputs.
Predict = Callable[[Sequence[Array]], Outputs]

_ELSEWHERE = "Export it to ONNX your own way and save the file."
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Export:
    """What an exporter makes of a live object.

    Attributes:
        files: Path in the revision to local file.
        predict: Runs the live object; ``None`` if the files are the model.
        examples: The example inputs as the files take them, where those given are something else,
            such as tables.
    """

    files: Files
    predict: Predict | None = None
    examples: Examples = None


def refusal(what: str, reason: object, hint: str = _ELSEWHERE) -> BadInput:
    """The error for an object that cannot be saved. ``reason`` may be the library's exception."""
    if isinstance(reason, Exception):
        reason = f"{type(reason).__name__}: {reason}"
    text = " ".join(str(reason).split())[:_LONGEST].rstrip(".")
    return BadInput(f"This {what} cannot be saved: {text}.", hint)


def only(library: str, examples: Examples) -> dict[str, Array]:
    """The single example of a model with one input, by the name given to it or ``features``.

    A table becomes a matrix.
    """
    if isinstance(examples, Mapping):
        named = dict(examples)
    else:
        named = {f"features{index or ''}": each for index, each in enumerate(examples or ())}
    if len(named) != 1:
        raise BadInput(
            f"A {library} model needs one example input, not {len(named)}.",
            "Pass example_inputs=X[:100], an array or a table: it determines the input's type, and "
            "the file must agree with the model on it. A list is taken for several inputs.",
        )
    arrays = {name: matrix(value) for name, value in named.items()}
    for name, array in arrays.items():
        if array.ndim == 0:
            raise BadInput(
                f"The example input is a {type(named[name]).__name__}, no array.",
                "Pass the array or the table that it was made from: example_inputs=X[:100].",
            )
    return arrays
