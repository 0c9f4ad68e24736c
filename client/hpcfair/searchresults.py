"""Results of a search, and their text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

from hpcfair.explain import gain_text, latency_text, throughput_text
from hpcfair.scenarios import Execution
from hpcfair.types import MLModelSummary


def fastest(hit: MLModelSummary) -> str:
    """The speed of a result's best build; "" without one."""
    speed = hit.speed
    if speed is not None:
        text = f"{latency_text(speed.latency_ns)} on {speed.target}"
        if speed.throughput_per_s is not None:
            execution = speed.execution or Execution()
            text = f"{throughput_text(speed)} on {speed.target}, {execution}"
        if speed.gain > 1:
            text += f", {gain_text(speed.gain)} times as fast [{speed.tolerance}]"
        return text
    if not hit.builds:
        return ""
    target, ratio = min(hit.builds.items(), key=lambda item: item[1])
    return f"{ratio:.2f} on {target}"


@dataclass(frozen=True, slots=True, repr=False)
class Hits(Sequence[MLModelSummary]):
    """Search results, best first.

    Attributes:
        total: Number of all results, shown or not.
        facets: Field to values with their counts.
        hints: Of an empty result: filter values that no model has, with the ones most alike.
    """

    items: tuple[MLModelSummary, ...]
    total: int
    facets: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    hints: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[MLModelSummary]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> MLModelSummary: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MLModelSummary, ...]: ...
    def __getitem__(self, index: int | slice) -> MLModelSummary | tuple[MLModelSummary, ...]:
        return self.items[index]

    def __repr__(self) -> str:
        count = f"{len(self)} of {self.total} {'model' if self.total == 1 else 'models'}"
        rows = [("name", "license", "task", "fastest build")]
        rows += [(hit.name, hit.license, hit.task, fastest(hit)) for hit in self]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([count, *(lines if self.items else self.hints)])
