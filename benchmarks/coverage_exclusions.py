"""What backends do not claim to build, by their own documentation."""

from collections.abc import Mapping
from dataclasses import dataclass

from workers.backends.space import ML_DOMAIN

_ML = f"{ML_DOMAIN}::"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Operators that a backend's documentation does not list as supported.

    Attributes:
        operators: By name, as inspection counts them.
        prefix: Of further operators: a domain.
        source: Where the documentation lists the supported operators.
    """

    backend: str
    operators: frozenset[str]
    prefix: str
    source: str


_LISTED_BY_OPENVINO = (
    "https://docs.openvino.ai/2026/documentation/compatibility-and-support/"
    "supported-operations.html"
)
#: TVM's only list is the table of its importer; ``LSTM`` and ``GRU`` are written by ours.
_LISTED_BY_TVM = (
    "https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py"
)
_ABSENT_FROM_TVM = frozenset({"RNN", "Loop", "Scan", "DeformConv", "Col2Im", "STFT"})
EXCLUSIONS = (
    Exclusion("openvino", frozenset(), _ML, _LISTED_BY_OPENVINO),
    Exclusion("tvm", _ABSENT_FROM_TVM, _ML, _LISTED_BY_TVM),
    Exclusion("tvm_cuda", _ABSENT_FROM_TVM, _ML, _LISTED_BY_TVM),
)


def exclusion_of(backend: str, operators: Mapping[str, int]) -> str:
    """Why a backend need not build a network with these operators; empty if it should."""
    for exclusion in EXCLUSIONS:
        if exclusion.backend != backend:
            continue
        absent = sorted(
            operator
            for operator in operators
            if operator in exclusion.operators or operator.startswith(exclusion.prefix)
        )
        if absent:
            return f"{', '.join(absent)}: not in {exclusion.source}"
    return ""
