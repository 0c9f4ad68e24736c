"""Comparisons of published builds."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from hpcfair.transport import Transport
from hpcfair.typingnames import Unpack

#: Figure by which the cheapest build within limits is chosen.
Cost = Literal["latency", "energy", "memory", "size"]


class ComparisonFilters(TypedDict, total=False):
    """What to compare.

    ``models`` are ``namespace/name`` or ``namespace/name@revision``; ``targets``, ``backends`` and
    ``tolerances`` restrict; ``accuracy`` (a share) and ``latency_ms`` are limits, within which the
    cheapest build by ``cost`` is named.
    """

    models: Sequence[str]
    targets: Sequence[str]
    backends: Sequence[str]
    tolerances: Sequence[str]
    accuracy: float | None
    latency_ms: float | None
    cost: Cost


_NAMES = {"models": "model", "targets": "target", "backends": "backend", "tolerances": "tolerance"}


def compare(
    http: Transport, builds: Sequence[str] = (), **filters: Unpack[ComparisonFilters]
) -> dict[str, Any]:
    """Compare builds; see :meth:`Client.compare`."""
    parameters: dict[str, str | int | float | None] = {"build": ",".join(builds) or None}
    for name, parameter in _NAMES.items():
        values: Sequence[str] = filters.get(name, ())  # type: ignore[assignment]
        parameters[parameter] = ",".join(values) or None
    parameters["accuracy"] = filters.get("accuracy")
    parameters["latency_ms"] = filters.get("latency_ms")
    parameters["x"] = filters.get("cost")
    sent = {name: value for name, value in parameters.items() if value is not None}
    answer: dict[str, Any] = http.get("/api/v1/compare", params=sent)
    return answer
