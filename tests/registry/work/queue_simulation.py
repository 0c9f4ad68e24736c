"""A queue with workers in simulated time, on the rule of :mod:`registry.fairshare` alone."""

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from registry import fairshare


def longest_wait_s(
    *, others: int, longest_s: float, workers: int = 1, new_ahead: int | None = None
) -> float:
    """Upper bound on the wait of the only job of an account whose earlier work is paid.

    Args:
        others: Other flows with jobs in the queue; those of all new accounts count as one.
        longest_s: Longest job, and longest time until a running one of another level yields.
        workers: Workers that serve the queue.
        new_ahead: If the account is new: new accounts whose turns come before; else ``None``.
    """
    turns = others if new_ahead is None else others * (new_ahead + 2) + new_ahead + 1
    return longest_s * (1 + turns / workers)


@dataclass(eq=False)
class Work:
    """One job of an account: ``seconds`` is what it takes, ``estimate_s`` what is expected."""

    owner: str
    at: float
    seconds: float
    estimate_s: float
    priority: int = 100
    started: float = -1.0

    @property
    def wait(self) -> float:
        return self.started - self.at


@dataclass
class Line:
    """A flow: its tag and its jobs, the next one first."""

    number: int
    level: int
    due_s: float = 0.0
    jobs: list[tuple[float, int, Work]] = field(default_factory=list)


class Simulation:
    """Serves arrivals with a number of workers. ``new`` are the owners with young accounts."""

    def __init__(self, workers: int = 1, new: Iterable[str] = ()) -> None:
        self._free = workers
        self._new = set(new)
        self._lines: dict[tuple[str, int], Line] = {}
        self._common: defaultdict[int, float] = defaultdict(float)
        self._served_s = 0.0
        self._count = 0
        self._order: list[Work] = []

    def run(self, arrivals: Iterable[Work]) -> list[Work]:
        """All jobs in the order in which they began."""
        events: list[tuple[float, int, int, Work]] = []
        for number, work in enumerate(arrivals):
            heapq.heappush(events, (work.at, 1, number, work))
        while events:
            now, is_arrival, number, work = heapq.heappop(events)
            if is_arrival:
                self._submit(work)
            else:
                self._free += 1
                self._settle(work)
            # Everything of this moment is known before anybody chooses.
            if events and events[0][0] == now:
                continue
            while self._free and (begun := self._claim()):
                begun.started = now
                self._free -= 1
                self._count += 1
                heapq.heappush(events, (now + begun.seconds, 0, self._count, begun))
                self._order.append(begun)
        return self._order

    def _line(self, work: Work) -> Line:
        level = fairshare.level_of(work.priority)
        key = (work.owner, level)
        return self._lines.setdefault(key, Line(len(self._lines), level))

    def _submit(self, work: Work) -> None:
        line = self._line(work)
        if not line.jobs:
            advance = fairshare.activate(
                line.level,
                line.due_s,
                now_s=self._served_s,
                estimate_s=work.estimate_s,
                common_s=self._common_of(work, line),
            )
            self._store(line, advance)
        rank = fairshare.rank(
            submitted_at=datetime.fromtimestamp(work.at, UTC),
            priority=work.priority,
            estimate_s=work.estimate_s,
        )
        self._count += 1
        heapq.heappush(line.jobs, (rank, self._count, work))

    def _claim(self) -> Work | None:
        waiting = [line for line in self._lines.values() if line.jobs]
        if not waiting:
            return None
        line = min(waiting, key=lambda line: (line.due_s, line.number))
        work = heapq.heappop(line.jobs)[2]
        due_s = fairshare.turn_s(line.due_s, now_s=self._served_s)
        self._served_s = max(self._served_s, fairshare.start_s(line.level, due_s))
        common_s = self._common_of(work, line)
        self._store(
            line, fairshare.serve(line.level, due_s, estimate_s=work.estimate_s, common_s=common_s)
        )
        return work

    def _settle(self, work: Work) -> None:
        line = self._line(work)
        error_s = work.seconds - work.estimate_s
        line.due_s = fairshare.settle(line.level, line.due_s, now_s=self._served_s, error_s=error_s)
        if work.owner in self._new:
            due_s = self._common[line.level] + fairshare.LEVELS[line.level].handicap_s
            due_s = fairshare.settle(line.level, due_s, now_s=self._served_s, error_s=error_s)
            self._common[line.level] = fairshare.start_s(line.level, due_s)

    def _common_of(self, work: Work, line: Line) -> float | None:
        return self._common[line.level] if work.owner in self._new else None

    def _store(self, line: Line, advance: fairshare.Advance) -> None:
        line.due_s = advance.due_s
        if advance.common_s is not None:
            self._common[line.level] = advance.common_s
