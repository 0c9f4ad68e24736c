"""The words of the query grammar: its filters and orders, with their help.

The parser, the parameters of the API, the search form and the documentation are made from these
tables, so that all of them use the same words.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Literal

from registry.states import ArchitectureClass, ToleranceClass


class FilterKind(StrEnum):
    """How a filter selects models."""

    #: The model has one value, and any of the values in the query matches.
    ONE = "one"
    #: The model has several values, and all values in the query must match.
    ALL = "all"
    #: A number of the model, compared with another one.
    NUMBER = "number"
    #: Tensors, as in ``registry/search/signature.py``.
    SIGNATURE = "signature"
    #: The full name of a model.
    NAME = "name"
    #: A tolerance class. It selects no models: it says which builds the numbers are of.
    TOLERANCE = "tolerance"


class Encoding(StrEnum):
    """How the index stores a number: as an integer that sorts as the number does."""

    INTEGER = "integer"
    FLOAT = "float"
    #: The index stores one divided by the number, as a float.
    RECIPROCAL = "reciprocal"


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of the query grammar.

    Attributes:
        name: The word before the colon, the parameter of the API and of the client.
        help: One sentence.
        example: What follows the colon.
        column: Name in the index.
        alias: Another name, of earlier versions; "" without one.
        values: All valid values; empty if the hub's models decide.
    """

    name: str
    kind: FilterKind
    help: str
    example: str
    column: str = ""
    alias: str = ""
    values: tuple[str, ...] = ()

    @property
    def in_query(self) -> str:
        """The example as it is written in a query."""
        quoted = f'"{self.example}"' if " " in self.example else self.example
        return f"{self.name}:{quoted}"


@dataclass(frozen=True, slots=True)
class Number:
    """A number of models that filters compare and orders sort by.

    Attributes:
        column: Field of the index; of builds (``is_speed``), the last part of its path.
        units: Unit, as in queries but in lower case and with ``u`` for micro, to its factor;
            "" is the factor without a unit.
        is_least_best: Whether the stored value sorts ascending.
        is_speed: Whether it is of a build, on a target within a tolerance class.
    """

    name: str
    column: str
    encoding: Encoding
    units: Mapping[str, Fraction]
    is_least_best: bool
    is_speed: bool = False


def _units(factors: Mapping[str, int]) -> dict[str, Fraction]:
    return {unit: Fraction(factor) for unit, factor in factors.items()}


_COUNTS = _units({"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12})
_BYTES = _units(
    {
        "": 1,
        "b": 1,
        "kb": 10**3,
        "mb": 10**6,
        "gb": 10**9,
        "tb": 10**12,
        "kib": 2**10,
        "mib": 2**20,
        "gib": 2**30,
        "tib": 2**40,
    }
)
#: Without a unit, a latency could be in any of them.
_TIMES = _units({"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9})
_INTEGER, _FLOAT, _RECIPROCAL = Encoding.INTEGER, Encoding.FLOAT, Encoding.RECIPROCAL

_NUMBERS = (
    Number("latency", "ns", _INTEGER, _TIMES, is_least_best=True, is_speed=True),
    Number(
        "gain", "ratio", _RECIPROCAL, _units({"": 1, "x": 1}), is_least_best=True, is_speed=True
    ),
    Number(
        "accuracy",
        "accuracy",
        _FLOAT,
        {"": Fraction(1), "%": Fraction(1, 100)},
        is_least_best=False,
        is_speed=True,
    ),
    Number(
        "throughput",
        "throughput",
        _FLOAT,
        _units({"": 1, "k": 10**3, "m": 10**6}),
        is_least_best=False,
        is_speed=True,
    ),
    Number("parameters", "parameters", _INTEGER, _COUNTS, is_least_best=True),
    Number("size", "size", _INTEGER, _BYTES, is_least_best=True),
    Number("fair", "fair", _FLOAT, _units({"": 1, "%": 1}), is_least_best=False),
)
NUMBERS: Mapping[str, Number] = {number.name: number for number in _NUMBERS}

_ONE, _ALL, _COMPARED = FilterKind.ONE, FilterKind.ALL, FilterKind.NUMBER
_FILTERS = (
    Filter("task", _ONE, "Task of the model.", "image-classification", "task"),
    Filter("license", _ONE, "SPDX id of the licence.", "apache-2.0", "license"),
    Filter("library", _ONE, "Library that the model was made with.", "onnx", "library"),
    Filter("tag", _ALL, "Tag of the model.", "astronomy", "tag"),
    Filter(
        "class",
        _ONE,
        "Architecture class of the network.",
        "residual-cnn",
        "architecture_class",
        alias="architecture_class",
        values=tuple(ArchitectureClass.values),
    ),
    Filter("by", _ONE, "Person or organisation.", "lab", "namespace", alias="namespace"),
    Filter("target", _ALL, "Target that has builds of the model.", "x86-64-avx512", "target"),
    Filter(
        "tolerance",
        FilterKind.TOLERANCE,
        "Tolerance class of the builds that `latency`, `gain`, `accuracy` and `throughput` are of.",
        "int8",
        values=tuple(ToleranceClass.values),
    ),
    Filter(
        "latency",
        _COMPARED,
        "Median latency of the best build, on the `target` within the `tolerance`.",
        "<5ms",
    ),
    Filter(
        "gain",
        _COMPARED,
        "How many times as fast as the runtime's defaults the best build is.",
        ">2",
    ),
    Filter("accuracy", _COMPARED, "Accuracy of the best build, from 0 to 1.", ">0.95"),
    Filter(
        "throughput",
        _COMPARED,
        "Samples per second of the best build in the scenario `offline`.",
        ">500",
    ),
    Filter("parameters", _COMPARED, "Number of parameters.", "<10M"),
    Filter("size", _COMPARED, "Bytes of the model's files.", "<100MB"),
    Filter("fair", _COMPARED, "FAIR score in percent.", ">80"),
    Filter(
        "signature",
        FilterKind.SIGNATURE,
        "Types and shapes of inputs and outputs; `?` and names are any size.",
        "float32[N,3,64,64] -> float32[N,10]",
    ),
    Filter(
        "similar",
        FilterKind.NAME,
        "Model whose network is similar; the most similar comes first.",
        "lab/galaxy-cnn",
        alias="similar_to",
    ),
)
FILTERS: Mapping[str, Filter] = {one.name: one for one in _FILTERS}

Sort = Literal[
    "relevance", "updated", "downloads", "name",
    "latency", "gain", "accuracy", "throughput", "parameters", "size", "fair",
]  # fmt: skip
#: Orders with their help.
SORTS: Mapping[Sort, str] = {
    "relevance": "best match of the words first; with `similar`, the most similar first",
    "updated": "last change first",
    "downloads": "most downloaded first",
    "name": "by `namespace/name`",
    "latency": "lowest latency first",
    "gain": "largest gain first",
    "accuracy": "highest accuracy first",
    "throughput": "most samples per second first",
    "parameters": "fewest parameters first",
    "size": "smallest first",
    "fair": "highest FAIR score first",
}

#: Operators of comparisons.
OPERATORS = ("<=", ">=", "<", ">")

_SPELLINGS = {"licence": "license", **{one.alias: one.name for one in _FILTERS if one.alias}}
#: Words that may stand before a colon.
KEYS = (*FILTERS, "sort", *_SPELLINGS)


def name_of(key: str) -> str:
    """Name of the filter or ``sort`` of which ``key`` is a name or another spelling."""
    return _SPELLINGS.get(key, key)


def suggestion(word: str, valid: Iterable[str]) -> str:
    """`` Did you mean ...?`` with the valid word that is most like ``word``; "" without one."""
    near = difflib.get_close_matches(word.lower(), list(valid), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def listed(values: Iterable[str], most: int = 20) -> str:
    """Values for a message; of more than ``most`` only the first."""
    values = list(values)
    shown = ", ".join(values[:most])
    return f"{shown} and {len(values) - most} more" if len(values) > most else shown
