"""The query language of the hub's catalogue (docs/search.md), for models on this machine.

What only the hub knows is refused: ``similar``, ``fair``, and orders by what a cache does not hold.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hpcfair.errors import BadInput
from hpcfair.precisions import TOLERANCES
from hpcfair.scenarios import OFFLINE, SINGLE_STREAM

#: Filters by text. Of a model's tags and targets, all values of a query must match.
TEXTS = ("task", "license", "library", "tag", "class", "by", "target")
#: Units of numbers, as factors.
NUMBERS: Mapping[str, Mapping[str, float]] = {
    "latency": {"ns": 1, "us": 1e3, "\N{MICRO SIGN}s": 1e3, "ms": 1e6, "s": 1e9},
    "gain": {"": 1, "x": 1},
    "accuracy": {"": 1, "%": 0.01},
    "throughput": {"": 1, "k": 1e3, "m": 1e6},
    "parameters": {"": 1, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12},
    "size": {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
    | {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
}
#: Orders by numbers; whether the least comes first.
SORTS = {
    "latency": True,
    "gain": False,
    "accuracy": False,
    "throughput": False,
    "parameters": True,
    "size": True,
}
#: Numbers of builds, each with their scenario.
SPEEDS = {
    "latency": SINGLE_STREAM,
    "gain": SINGLE_STREAM,
    "accuracy": SINGLE_STREAM,
    "throughput": OFFLINE,
}
_ONLY_THE_HUB = {"updated", "downloads", "fair"}
_ALIASES = {
    "licence": "license",
    "architecture_class": "class",
    "namespace": "by",
    "similar_to": "similar",
}
_ITEM = re.compile(r'(?:(?P<key>[A-Za-z_]+):)?(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<word>[^\s"]*))')
_BOUND = re.compile(r"([<>]=?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([^\W\d_]*|%)")
_TENSOR = re.compile(r"\s*([\w()]+)\s*\[([^\]]*)\]\s*")


@dataclass(frozen=True, slots=True)
class RequestedTensor:
    """A requested tensor; of ``dims``, integers are fixed. ``None``: of any rank."""

    dtype: str
    dims: tuple[int | str, ...] | None


@dataclass(frozen=True, slots=True)
class NumberFilter:
    """A comparison of a number, such as ``latency`` in nanoseconds, with another one."""

    name: str
    operator: str
    number: float

    def holds(self, value: float | None) -> bool:
        """Whether it holds; never for a number that is not known."""
        if value is None:
            return False
        is_less, is_more = value < self.number, value > self.number
        strict = is_less if self.operator.startswith("<") else is_more
        return strict or (self.operator.endswith("=") and value == self.number)


_Tensors = list[RequestedTensor]


@dataclass(slots=True)
class LocalQuery:
    """A parsed query.

    Attributes:
        words: In lower case.
        phrases: In lower case.
        texts: Filter to its values, in lower case.
        signatures: Pairs of inputs and outputs; an empty side is any.
        tolerance: Class of the builds that numbers are of.
    """

    words: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    texts: dict[str, set[str]] = field(default_factory=dict)
    bounds: list[NumberFilter] = field(default_factory=list)
    signatures: list[tuple[_Tensors, _Tensors]] = field(default_factory=list)
    tolerance: str = "exact"
    sort: str = "relevance"

    @property
    def scenario(self) -> str:
        """Scenario of the builds that results show, as the hub chooses it."""
        if self.sort in SPEEDS:
            return SPEEDS[self.sort]
        is_offline = any(bound.name == "throughput" for bound in self.bounds)
        return OFFLINE if is_offline else SINGLE_STREAM


def parse(text: str, filters: Mapping[str, object]) -> LocalQuery:
    """The query of a text and of separate filters.

    Raises BadInput: a filter, unit, class or order is unknown, or needs the hub.
    """
    query = LocalQuery()
    for item in _ITEM.finditer(text):
        key, phrase, word = item["key"], item["phrase"], item["word"]
        if key:
            _add(query, key.lower(), phrase or word or "")
        elif phrase and phrase.strip():
            query.phrases.append(phrase.strip().lower())
        elif word:
            query.words.append(word.lower())
    for key, value in filters.items():
        if value is not None:
            _add(query, key, str(value))
    return query


def _add(query: LocalQuery, key: str, value: str) -> None:
    name, value = _ALIASES.get(key, key), value.strip()
    if not value:
        raise BadInput(f"{key} has no value.", f"Write {key}:value, without a space.")
    if name in TEXTS:
        query.texts.setdefault(name, set()).add(value.lower())
    elif name in NUMBERS:
        query.bounds.append(_bound(name, value))
    elif name == "signature":
        query.signatures.append(_signature(value))
    elif name == "tolerance" and value.lower() in TOLERANCES:
        query.tolerance = value.lower()
    elif name == "sort" and (value in SORTS or value in {"relevance", "name"}):
        query.sort = value
    else:
        raise _refusal(name, value)


def _refusal(name: str, value: str) -> BadInput:
    if name in {"similar", "fair"} or (name == "sort" and value in _ONLY_THE_HUB):
        return BadInput(
            f"{name}:{value} needs the hub, and HPCFAIR_OFFLINE is set.", "Leave it out."
        )
    if name in {"sort", "tolerance"}:
        valid = ("relevance", "name", *SORTS) if name == "sort" else TOLERANCES
        return BadInput(f"There is no {name} {value!r}.", f"Valid are {', '.join(valid)}.")
    filters = (*TEXTS, *NUMBERS, "signature", "tolerance", "sort")
    return BadInput(f"There is no filter {name!r}.", f"Filters are {', '.join(filters)}.")


def _bound(name: str, text: str) -> NumberFilter:
    match = _BOUND.fullmatch("".join(text.split()))
    factor = NUMBERS[name].get(match[3].lower()) if match else None
    if match is None or factor is None:
        units = ", ".join(unit for unit in NUMBERS[name] if unit)
        raise BadInput(
            f"{name} needs a comparison, not {text!r}.", f"Write {name}:<5; units are {units}."
        )
    return NumberFilter(name, match[1], float(match[2]) * factor)


def _signature(text: str) -> tuple[_Tensors, _Tensors]:
    inputs, _, outputs = text.partition("->")
    return _tensors(inputs), _tensors(outputs)


def _tensors(text: str) -> _Tensors:
    tensors, rest = [], text.strip()
    while rest:
        match = _TENSOR.match(rest)
        if match is None:
            raise BadInput(
                f"{text.strip()!r} is no signature.", "Write float32[N,3,64,64] -> float32[N,10]."
            )
        dims = tuple(int(d) if d.isdecimal() else d for d in map(str.strip, match[2].split(",")))
        is_scalar, is_any = dims == ("",), dims == ("...",)
        tensors.append(RequestedTensor(match[1], None if is_any else () if is_scalar else dims))
        rest = rest[match.end() :].removeprefix(",").strip()
    return tensors
