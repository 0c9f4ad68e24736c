"""Where the time of a build goes: its groups of nodes, and the reasons of the slowest ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hpcfair.fromjson import FromJson, many
from hpcfair.transport import Transport

#: Groups whose reasons are fetched, one request each.
_EXPLAINED = 3


@dataclass(frozen=True, slots=True)
class Reason(FromJson):
    """The result of a rule about a group: ``applies``, ``not`` or ``unknown``, with its numbers.

    ``saving`` is the share of a run that would be saved at most; ``None`` if that is not known.
    """

    code: str
    state: str
    title: str
    text: str
    saving: float | None = None


@dataclass(frozen=True, slots=True)
class CallGroup(FromJson):
    """Nodes of the network that a build computes in one call.

    Attributes:
        share: Of a run, 0 to 1.
        flops_per_s: ``None`` if the work of the nodes is not known.
        nodes: Positions in ``graph.node`` of the ONNX file.
        grade: Of the links to the nodes: ``exact``, ``inferred`` or ``shared``; empty without.
        reasons: Of the slowest groups only.
    """

    sequence: int
    name: str
    label: str
    median_ns: int
    mad_ns: int
    runs: int
    share: float
    is_plausible: bool = True
    flops_per_s: float | None = None
    precision: str = ""
    implementation: str = ""
    workload: str = ""
    nodes: tuple[int, ...] = many()
    grade: str = ""
    marks: tuple[str, ...] = many()
    reasons: tuple[Reason, ...] = many(Reason.from_json)


@dataclass(frozen=True, slots=True)
class Performance(FromJson):
    """The profile of a build.

    Attributes:
        total_ns: Of a run under the profiler; ``sum_ns`` is the sum of its ``count`` calls.
        is_reconciled: Whether both agree within a tenth.
        groups: With most time first.
    """

    build: str
    target: str
    backend: str
    tolerance: str
    total_ns: int
    sum_ns: int
    is_reconciled: bool
    count: int
    method: str = ""
    tuned_share: float = 0.0
    precisions: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[CallGroup, ...] = many(CallGroup.from_json)


def performance(
    http: Transport,
    name: str,
    revision: str | None,
    *,
    target: str | None = None,
    build: str | None = None,
) -> Performance:
    """See :meth:`hpcfair.Client.performance`."""
    parameters: dict[str, Any] = {"revision": revision, "target": target, "build": build}
    query = {key: value for key, value in parameters.items() if value}
    profile = Performance.from_json(http.get(f"/api/v1/models/{name}/performance", params=query))
    return replace(profile, groups=tuple(_explained(http, profile)))


def _explained(http: Transport, profile: Performance) -> list[CallGroup]:
    groups = []
    for number, group in enumerate(profile.groups):
        if number < _EXPLAINED:
            answer = http.get(f"/api/v1/builds/{profile.build}/groups/{group.sequence}")
            reasons = tuple(Reason.from_json(one) for one in answer["reasons"])
            groups.append(replace(group, reasons=reasons))
        else:
            groups.append(group)
    return groups
