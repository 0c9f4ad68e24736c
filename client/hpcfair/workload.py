"""Operator workloads, of which networks consist for a compiler, and trials of their schedules."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hpcfair.transport import Transport, pages, quoted


@dataclass(frozen=True, slots=True)
class Workload:
    """An operator of fixed shapes inside compiled networks, on one target.

    Attributes:
        uuid: Its id.
        target: Hardware target.
        operator: The heaviest operator, such as ``conv2d_nhwc``.
        arguments: ``{"dtype", "shape"}`` of each.
        trials: Number of schedules that were tried, by the searches of all models.
        best_s: Fastest median of a trial in seconds; ``None`` without any.
        confirmed_s: Median of the newest confirmation; ``None`` before the first.
    """

    uuid: str
    target: str
    operator: str
    arguments: tuple[dict[str, Any], ...]
    trials: int
    best_s: float | None
    confirmed_s: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Workload":
        """The workload of an answer of the hub."""
        return cls(
            uuid=str(data["uuid"]),
            target=str(data["target"]),
            operator=str(data["operator"]),
            arguments=tuple(data["arguments"]),
            trials=int(data["trials"]),
            best_s=data["best_s"],
            confirmed_s=data["confirmed_s"],
        )

    @property
    def shapes(self) -> str:
        """Shapes of the arguments: ``1x28x28x32, 3x3x32x64``."""
        return ", ".join("x".join(map(str, one["shape"])) for one in self.arguments)


def workloads(
    http: Transport, *, target: str | None = None, operator: str | None = None
) -> Iterator[Workload]:
    """Workloads of readable models, newest first; ``operator`` is part of a name."""
    filters = {"target": target, "q": operator}
    return map(Workload.from_json, pages(http, "/api/v1/workloads", filters))


def workload_trials(http: Transport, uuid: str) -> Iterator[dict[str, Any]]:
    """Trials of a workload in the order in which they ended, with decisions raw and in words.

    Raises ``NotFound``: ``workload_not_found``.
    """
    yield from pages(http, f"/api/v1/workloads/{quoted(uuid)}/trials", {})
