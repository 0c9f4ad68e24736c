"""Tensor signatures: what goes into a network and what comes out, as people write it.

::

    signature = [ tensors ] , [ "->" , tensors ] ;      at least one side
    tensors   = tensor , { "," , tensor } ;
    tensor    = dtype , "[" , [ "..." | dim , { "," , dim } ] , "]" ;
    dim       = digits | "?" | text with a letter or "_" in it, without , [ ] > ;
    dtype     = simple | compound , "(" , dtype , { "," , dtype } , ")" ;
    simple    = a NumPy name, or bfloat16, string, int4, uint4, a float8 or float4 kind ;
    compound  = "sequence" | "map" | "optional" | "sparse" ;

White space is free. Example: ``float32[N,3,64,64], int64[N] -> float32[N,10]``. Digits are a fixed
dimension, everything else (``N``, ``past + 1``, ``?``) is a dynamic one; ``[]`` is a scalar,
``[...]`` of unknown rank.
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
_SHOWN = re.compile(r"[\w.?]+|->|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dtype and its dimensions: an ``int`` is fixed, text is dynamic."""

    dtype: str
    dims: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(dim) for dim in self.dims)}]"


@dataclass(frozen=True, slots=True)
class Signature:
    """Inputs and outputs, in the order the network has them."""

    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()

    def __str__(self) -> str:
        """The text :func:`parse` reads."""
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"{inputs} -> {outputs}".strip() if outputs else inputs


def parse(text: str) -> Signature:
    """Read a signature.

    Raises:
        Invalid: ``invalid_signature``, naming the character where reading stopped.
    """
    if len(text) > MAX_LENGTH:
        raise Invalid(
            "invalid_signature",
            f"The signature has {len(text)} characters; {MAX_LENGTH} are read.",
            "Leave out the outputs or the tensors that do not matter.",
        )
    return _Reader(text).signature()


def of_facts(facts: Mapping[str, Any]) -> Signature:
    """The signature in ``Graph.signature``.

    Names the grammar cannot spell become ``"?"``; what is missing is unknown, never an error: an
    odd model must not keep the others from being indexed.
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
    """Recursive descent over one text; ``at`` is the position of what comes next."""

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
        found = [read()]
        while self._sees(","):
            found.append(read())
        return tuple(found)

    def _dimension(self) -> int | str:
        dim = self._take(_DIM)
        if not dim:
            self._refuse("a dimension (an integer, a name, or ? for any)")
        return int(dim) if dim.isdecimal() else " ".join(dim.split())

    def _expect(self, sign: str) -> None:
        if not self._sees(sign):
            self._refuse(repr(sign))

    def _sees(self, sign: str) -> bool:
        """Step over a sign, if it comes next."""
        return bool(self._take(re.compile(re.escape(sign))))

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Step over what matches, and the space behind it; empty if nothing does."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        space = _SPACE.match(self.text, found.end())
        self.at = space.end() if space else found.end()
        return found[0]

    def _refuse(self, expected: str, near: Sequence[str] = ()) -> NoReturn:
        shown = _SHOWN.match(self.text, self.at)
        found = repr(shown[0]) if shown else "the end"
        meant = f" Did you mean {near[0]}?" if near else ""
        raise Invalid(
            "invalid_signature",
            f"Expected {expected} at character {self.at + 1} of the signature, found {found}."
            f"{meant}",
            f"Write it like {EXAMPLE}",
        )
