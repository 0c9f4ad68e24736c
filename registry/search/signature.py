"""Tensor signatures: inputs and outputs of a network, as text.

::

    signature = [ tensors ] , [ "->" , tensors ] ;      at least one side
    tensors   = tensor , { "," , tensor } ;
    tensor    = dtype , "[" , [ "..." | dim , { "," , dim } ] , "]" ;
    dim       = digits | "?" | text with a letter or "_" in it, without , [ ] > ;
    dtype     = simple | compound , "(" , dtype , { "," , dtype } , ")" ;
    simple    = a NumPy name, or bfloat16, string, int4, uint4, a float8 or float4 kind ;
    compound  = "sequence" | "map" | "optional" | "sparse" ;

White space is ignored. Example: ``float32[N,3,64,64], int64[N] -> float32[N,10]``. Digits are a
fixed dimension, everything else (``N``, ``past + 1``, ``?``) is a dynamic one; ``[]`` is a scalar,
``[...]`` a tensor of unknown rank.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from registry.errors import Invalid

MAX_LENGTH = 1000
EXAMPLE = "float32[N,3,64,64], int64[N] -> float32[N,10]"

DTYPES = frozenset(
    {"bool", "string", "bfloat16", "complex64", "complex128"}
    | {f"float{bits}" for bits in (16, 32, 64)}
    | {f"{kind}{bits}" for kind in ("int", "uint") for bits in (2, 4, 8, 16, 32, 64)}
    | {"float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}
    | {"float8_e8m0fnu"}
)

COMPOUNDS = frozenset({"sequence", "map", "optional", "sparse"})

_Part = TypeVar("_Part")

ANY = "?"
UNKNOWN_RANK: tuple[int | str, ...] = ("...",)
_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_DIM = re.compile(r"[0-9]+(?=\s*(?:[],]|$))|\?|[^][,>]*[^\W\d][^][,>]*")
_TOKEN = re.compile(r"[\w.?]+|->|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dtype and dimensions: an ``int`` is a fixed dimension, text a dynamic one."""

    dtype: str
    dims: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(dim) for dim in self.dims)}]"


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs and outputs in the order of the network."""

    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()

    def __str__(self) -> str:
        """Text that :func:`parse` reads."""
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"{inputs} -> {outputs}".strip() if outputs else inputs


def parse(text: str) -> Signature:
    """Parse a signature.

    Raises ``Invalid``: ``invalid_signature``, with the position of the error.
    """
    if len(text) > MAX_LENGTH:
        raise Invalid(
            "invalid_signature",
            f"The signature has {len(text)} characters; at most {MAX_LENGTH} are allowed.",
            "Leave out the outputs or some tensors.",
        )
    return _Reader(text).signature()


def of_facts(facts: Mapping[str, Any]) -> Signature:
    """The signature of ``Graph.signature``.

    Names outside the grammar become ``"?"``; missing values are unknown rather than an error, so
    that one odd model does not prevent the indexing of others.
    """

    def tensors(side: str) -> tuple[Tensor, ...]:
        return tuple(
            Tensor(str(tensor.get("dtype", "unknown")), _dims(tensor.get("shape", UNKNOWN_RANK)))
            for tensor in facts.get(side, [])
        )

    return Signature(tensors("inputs"), tensors("outputs"))


def _dims(shape: Sequence[Any]) -> tuple[int | str, ...]:
    return UNKNOWN_RANK if tuple(shape) == UNKNOWN_RANK else tuple(map(_dim, shape))


def _dim(value: Any) -> int | str:
    if isinstance(value, int) and value >= 0:
        return value
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name if _DIM.fullmatch(name) else ANY


class _Reader:
    """Recursive-descent parser; ``at`` is the current position."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._take(_SPACE)

    def signature(self) -> Signature:
        inputs = () if self.text.startswith("->", self.at) else self._listed(self._tensor)
        outputs = self._listed(self._tensor) if self._sees("->") else ()
        if self.at < len(self.text):
            self._refuse("',' or '->' or the end")
        return Signature(inputs, outputs)

    def _tensor(self) -> Tensor:
        dtype = self._dtype()
        self._expect("[")
        if self._sees("]"):
            return Tensor(dtype)
        dims = UNKNOWN_RANK if self._sees("...") else self._listed(self._dimension)
        self._expect("]")
        return Tensor(dtype, dims)

    def _dtype(self) -> str:
        start = self.at
        name = self._take(_WORD)
        if name in COMPOUNDS:
            self._expect("(")
            name += f"({','.join(self._listed(self._dtype))})"
            self._expect(")")
        elif name not in DTYPES:
            self.at = start
            self._refuse("a dtype", difflib.get_close_matches(name, sorted(DTYPES), n=1))
        return name

    def _listed(self, read: Callable[[], _Part]) -> tuple[_Part, ...]:
        parts = [read()]
        while self._sees(","):
            parts.append(read())
        return tuple(parts)

    def _dimension(self) -> int | str:
        dim = self._take(_DIM)
        if not dim:
            self._refuse("a dimension (an integer, a name, or ? for any)")
        return int(dim) if dim.isdecimal() else " ".join(dim.split())

    def _expect(self, sign: str) -> None:
        if not self._sees(sign):
            self._refuse(repr(sign))

    def _sees(self, sign: str) -> bool:
        """Whether a sign is next; if so, it is consumed."""
        return bool(self._take(re.compile(re.escape(sign))))

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Consume and return a match with the white space after it; "" without a match."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        space = _SPACE.match(self.text, match.end())
        self.at = space.end() if space else match.end()
        return match[0]

    def _refuse(self, expected: str, near: Sequence[str] = ()) -> NoReturn:
        rest = _TOKEN.match(self.text, self.at)
        token = repr(rest[0]) if rest else "the end"
        suggestion = f" Did you mean {near[0]}?" if near else ""
        raise Invalid(
            "invalid_signature",
            f"Expected {expected} at character {self.at + 1} of the signature, found {token}."
            f"{suggestion}",
            f"Write it like {EXAMPLE}",
        )
