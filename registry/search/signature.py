"""Tensor signatures: what goes into a network and what comes out, as people write it.

::

    signature = [ tensors ] , [ "->" , tensors ] ;      at least one side
    tensors   = tensor , { "," , tensor } ;
    tensor    = dtype , "[" , [ dim , { "," , dim } ] , "]" ;      "[]" is a scalar
    dim       = digits | name | "?" ;                   a name or "?" is a dynamic dimension
    dtype     = a NumPy name, or bfloat16, string, int4, uint4, a float8 or float4 kind ;

White space is free. Example: ``float32[N,3,64,64], int64[N] -> float32[N,10]``.

A signature is *asked* by a person and *had* by a model. Both sides are compared tensor by tensor
in order: as many tensors, the same dtype, the same rank, and no pair of dimensions that are two
different integers. A side that the question leaves empty constrains nothing. The index answers
the same question from terms alone: :func:`clauses` of the question against :func:`terms` of the
model.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

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

ANY = "?"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_TOKEN = re.compile(r"\s*(?:(->)|([0-9]+)|([A-Za-z_][A-Za-z0-9_.]*)|([][,?]))")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dtype and its dimensions: an ``int`` is fixed, a name or ``"?"`` is dynamic."""

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
    """The signature in ``Graph.signature``; a dimension that is no integer is dynamic.

    Names that the grammar cannot spell (``past_length + 1``) become ``"?"``.
    """

    def tensors(side: str) -> tuple[Tensor, ...]:
        return tuple(
            Tensor(str(tensor["dtype"]), tuple(_dim(dim) for dim in tensor["shape"]))
            for tensor in facts.get(side, [])
        )

    return Signature(tensors("inputs"), tensors("outputs"))


def match(asked: Signature, had: Signature) -> bool:
    """Whether a model with signature ``had`` is what ``asked`` looks for."""
    return _side_matches(asked.inputs, had.inputs) and _side_matches(asked.outputs, had.outputs)


def terms(had: Signature) -> set[str]:
    """What the index stores of a model: ``in=2 in0=float32/4 in0.0=* in0.1=3 ... out=1 ...``."""
    found = set()
    for side, tensors in (("in", had.inputs), ("out", had.outputs)):
        found.add(f"{side}={len(tensors)}")
        for position, tensor in enumerate(tensors):
            found.add(f"{side}{position}={tensor.dtype}/{len(tensor.dims)}")
            for axis, dim in enumerate(tensor.dims):
                found.add(f"{side}{position}.{axis}={dim if isinstance(dim, int) else '*'}")
    return found


def clauses(asked: Signature) -> list[tuple[str, ...]]:
    """What the index is asked: a model matches if it has, of each clause, at least one term."""
    found: list[tuple[str, ...]] = []
    for side, tensors in (("in", asked.inputs), ("out", asked.outputs)):
        if not tensors:
            continue
        found.append((f"{side}={len(tensors)}",))
        for position, tensor in enumerate(tensors):
            found.append((f"{side}{position}={tensor.dtype}/{len(tensor.dims)}",))
            found.extend(
                (f"{side}{position}.{axis}={dim}", f"{side}{position}.{axis}=*")
                for axis, dim in enumerate(tensor.dims)
                if isinstance(dim, int)
            )
    return found


def _side_matches(asked: Sequence[Tensor], had: Sequence[Tensor]) -> bool:
    if not asked:
        return True
    return len(asked) == len(had) and all(map(_tensor_matches, asked, had))


def _tensor_matches(asked: Tensor, had: Tensor) -> bool:
    return (
        asked.dtype == had.dtype
        and len(asked.dims) == len(had.dims)
        and not any(
            isinstance(wanted, int) and isinstance(given, int) and wanted != given
            for wanted, given in zip(asked.dims, had.dims, strict=True)
        )
    )


def _dim(value: object) -> int | str:
    if isinstance(value, int) and value >= 0:
        return value
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ANY


class _Reader:
    """Recursive descent; ``here`` is the token in hand, empty at the end, and ``at`` its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self._advance()

    def signature(self) -> Signature:
        inputs = () if self.here in {"", "->"} else self._tensors()
        outputs: tuple[Tensor, ...] = ()
        if self.here == "->":
            self._advance()
            outputs = self._tensors()
        if self.here or not (inputs or outputs):
            self._refuse("a tensor" if not inputs else "',' or '->' or the end")
        return Signature(inputs, outputs)

    def _tensors(self) -> tuple[Tensor, ...]:
        found = [self._tensor()]
        while self.here == ",":
            self._advance()
            found.append(self._tensor())
        return tuple(found)

    def _tensor(self) -> Tensor:
        dtype = self.here
        if dtype not in DTYPES:
            self._refuse("a dtype", near=difflib.get_close_matches(dtype, sorted(DTYPES), n=1))
        self._advance()
        self._expect("[")
        dims: list[int | str] = []
        if self.here != "]":
            dims.append(self._dimension())
            while self.here == ",":
                self._advance()
                dims.append(self._dimension())
        self._expect("]")
        return Tensor(dtype, tuple(dims))

    def _dimension(self) -> int | str:
        dim = self.here
        if not (dim == ANY or dim.isdecimal() or _NAME.fullmatch(dim)):
            self._refuse("a dimension (an integer, a name, or ? for any)")
        self._advance()
        return int(dim) if dim.isdecimal() else dim

    def _expect(self, token: str) -> None:
        if self.here != token:
            self._refuse(repr(token))
        self._advance()

    def _advance(self) -> None:
        space = _SPACE.match(self.text, self.end)
        self.at = space.end() if space else self.end
        found = _TOKEN.match(self.text, self.end)
        if found:
            self.here, self.end = found[found.lastindex or 0], found.end()
        else:
            # A character that begins no token is a token of its own, which nothing expects.
            self.here = self.text[self.at : self.at + 1]
            self.end = self.at + 1

    def _refuse(self, expected: str, *, near: Sequence[str] = ()) -> NoReturn:
        found = repr(self.here) if self.here else "the end"
        meant = f" Did you mean {near[0]}?" if near else ""
        raise Invalid(
            "invalid_signature",
            f"Expected {expected} at character {self.at + 1} of the signature, found {found}."
            f"{meant}",
            f"Write it like {EXAMPLE}",
        )
