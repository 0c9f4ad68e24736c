"""Names of dynamic dimensions: short ones in place of those that exporters make up.

PyTorch names a dimension that its author did not name ``s0`` or ``s77``, other exporters
``unk__12``, ``input_dynamic_axes_1`` or not at all. Such names say nothing to a reader. They become
``N``, ``M``, ``K`` ... in the order of their first use. Equal names stay equal and different ones
different, since equal names mean equal sizes.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

#: Names that exporters make up: PyTorch (export and TorchScript), tf2onnx, ONNX Runtime, Paddle.
_MADE_UP = re.compile(
    r"[su]\d+|unk_+\w*\d+|\w*_dynamic_axes_\d+|\w*output_dim_\d+|DynamicDimension\.\d+|None|\?"
)
#: A name within a dimension, which may be an expression such as ``s0 + 1``.
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\d+)?|\?")
_LETTERS = "NMKLPQRSTUVW"
UNKNOWN_RANK = "..."


def with_short_names(signature: dict[str, Any]) -> dict[str, Any]:
    """A signature whose dimensions have no names that exporters made up.

    Args:
        signature: As of :meth:`hpcfair.signature.Signature.from_json`. Each ``?`` is another
            dimension without a name.
    """
    sizes = [
        size
        for side in ("inputs", "outputs")
        for tensor in signature[side]
        for size in tensor["shape"]
        if isinstance(size, str)
    ]
    names = {name for size in sizes for name in _NAME.findall(size)}
    fresh = _fresh_names({name for name in names if not _MADE_UP.fullmatch(name)})
    short: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        name = match[0]
        if name == "?":
            return next(fresh)
        if not _MADE_UP.fullmatch(name):
            return name
        if name not in short:
            short[name] = next(fresh)
        return short[name]

    def renamed(size: int | str) -> int | str:
        if isinstance(size, int) or size == UNKNOWN_RANK:
            return size
        return _NAME.sub(rename, size)

    return {
        side: [
            {**tensor, "shape": [renamed(size) for size in tensor["shape"]]}
            for tensor in signature[side]
        ]
        for side in ("inputs", "outputs")
    }


def _fresh_names(taken: set[str]) -> Iterator[str]:
    numbered = (f"N{number}" for number in itertools.count(1))
    return (name for name in itertools.chain(_LETTERS, numbered) if name not in taken)
