"""What is known about a file of weights."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

#: Tensors that are listed; all are counted.
MOST_TENSORS = 200
_LONGEST = 200
_MOST_FINDINGS = 10


class Unreadable(ValueError):
    """The file is not of its format; the message is the reason."""


@dataclass(frozen=True, slots=True)
class HeaderTensor:
    """One stored array. ``dtype`` is spelled as in the format."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int

    @property
    def elements(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class TypeShare:
    """Values of one element type."""

    dtype: str
    parameters: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class WeightsFacts:
    """Facts of one file.

    Attributes:
        format: Name of the format, for readers.
        tensors: Number of tensors; ``None`` if only loading the file would tell.
        shares: Values by element type, the most first.
        listed: The first tensors.
        metadata: What the file says about itself, shortened.
        findings: What is wrong with the file, or dangerous about it, as whole sentences.
    """

    format: str
    tensors: int | None = None
    shares: tuple[TypeShare, ...] = ()
    listed: tuple[HeaderTensor, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    findings: tuple[str, ...] = field(default=())

    @property
    def parameters(self) -> int:
        """Number of values of all tensors."""
        return sum(share.parameters for share in self.shares)

    @property
    def types(self) -> tuple[tuple[str, float], ...]:
        """Element types with their shares of the values, from 0.0 to 1.0, the most first."""
        total = max(1, self.parameters)
        return tuple((share.dtype, share.parameters / total) for share in self.shares)


def facts_of(
    name: str,
    tensors: Sequence[HeaderTensor],
    metadata: Iterable[tuple[str, object]] = (),
    findings: Iterable[str] = (),
) -> WeightsFacts:
    """Facts of a format that describes all its tensors."""
    shares: dict[str, tuple[int, int]] = {}
    for tensor in tensors:
        parameters, size = shares.get(tensor.dtype, (0, 0))
        shares[tensor.dtype] = (parameters + tensor.elements, size + tensor.size_bytes)
    ordered = sorted(shares.items(), key=lambda share: (-share[1][0], share[0]))
    problems = list(findings)
    if len(problems) > _MOST_FINDINGS:
        problems[_MOST_FINDINGS:] = [f"{len(problems) - _MOST_FINDINGS:,} more of this kind."]
    return WeightsFacts(
        name,
        len(tensors),
        tuple(TypeShare(dtype, *share) for dtype, share in ordered),
        tuple(tensors[:MOST_TENSORS]),
        tuple((printable(key), printable(value)) for key, value in metadata),
        tuple(printable(problem, 2 * _LONGEST) for problem in problems),
    )


def printable(value: object, most: int = _LONGEST) -> str:
    """Text of a file without control characters, of at most ``most`` characters."""
    text = str(value)[:most]
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
