"""A queue with devices that differ, in simulated time, on :mod:`registry.fairshare` and
:mod:`registry.matching` alone: requirements, caps of accounts, cached files."""

import heapq
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice

from registry import fairshare
from registry.matching import Capabilities, Requirement, fits


@dataclass(eq=False)
class FleetJob:
    """A job of an account on a network, with its requirement."""

    owner: str
    at: float
    seconds: float
    requirement: Requirement = field(default_factory=Requirement)
    network: str = ""
    priority: int = 100
    chance: float | None = None
    started: float = -1.0
    device: int = -1

    @property
    def wait(self) -> float:
        return self.started - self.at

    @property
    def level(self) -> int:
        return fairshare.level_of(self.priority)


@dataclass
class FleetFlow:
    """A flow: its tag and its jobs in the order of their ranks."""

    number: int
    level: int
    due_s: float = 0.0
    jobs: list[tuple[float, int, FleetJob]] = field(default_factory=list)


class FleetSimulation:
    """Serves arrivals with devices. ``share``: of the devices that one account may hold."""

    def __init__(self, devices: Sequence[Capabilities], *, share: float = 1.0) -> None:
        self._devices = devices
        self._free = list(range(len(devices)))
        self._cap = fairshare.device_cap(share, len(devices))
        self._held: Counter[str] = Counter()
        self._cached: list[set[str]] = [set() for _ in devices]
        self._flows: dict[tuple[str, int], FleetFlow] = {}
        self._served_s = 0.0
        self._count = 0
        #: Largest number of devices that an account held at a time.
        self.most_held = 0

    def run(self, arrivals: Iterable[FleetJob]) -> list[FleetJob]:
        """All jobs that a device did, in the order in which they began."""
        events: list[tuple[float, int, int, FleetJob]] = []
        for number, job in enumerate(arrivals):
            heapq.heappush(events, (job.at, 1, number, job))
        order: list[FleetJob] = []
        while events:
            now, is_arrival, _, job = heapq.heappop(events)
            if is_arrival:
                self._submit(job)
            else:
                self._free.append(job.device)
                self._held[job.owner] -= 1
            # All events of this moment come before any device chooses a job.
            if events and events[0][0] == now:
                continue
            for begun in self._serve(now):
                self._count += 1
                heapq.heappush(events, (now + begun.seconds, 0, self._count, begun))
                order.append(begun)
        return order

    def _submit(self, job: FleetJob) -> None:
        flow = self._flows.setdefault(
            (job.owner, job.level), FleetFlow(len(self._flows), job.level)
        )
        if not flow.jobs:
            advance = fairshare.activate(
                flow.level, flow.due_s, now_s=self._served_s, estimate_s=job.seconds
            )
            flow.due_s = advance.due_s
        rank = fairshare.rank(
            submitted_at=datetime.fromtimestamp(job.at, UTC),
            priority=job.priority,
            estimate_s=job.seconds,
            chance=job.chance,
        )
        self._count += 1
        insort(flow.jobs, (rank, self._count, job))

    def _serve(self, now: float) -> list[FleetJob]:
        begun = []
        for device in sorted(self._free):
            job = self._claim(device)
            if job is not None:
                job.started, job.device = now, device
                self._free.remove(device)
                self._held[job.owner] += 1
                self.most_held = max(self.most_held, self._held[job.owner])
                self._cached[device].add(job.network)
                begun.append(job)
        return begun

    def _claim(self, device: int) -> FleetJob | None:
        for flow in sorted(self._flows.values(), key=lambda flow: (flow.due_s, flow.number)):
            able = (
                entry
                for entry in flow.jobs
                if fits(self._devices[device], entry[2].requirement).is_fit
            )
            fitting = list(islice(able, fairshare.AFFINITY_JOBS))
            if not fitting or self._held[fitting[0][2].owner] >= self._cap:
                continue
            cached = [entry[2].network in self._cached[device] for entry in fitting]
            entry = fitting[fairshare.preferred_index([rank for rank, _, _ in fitting], cached)]
            flow.jobs.remove(entry)
            due_s = fairshare.turn_s(flow.due_s, now_s=self._served_s)
            self._served_s = max(self._served_s, fairshare.start_s(flow.level, due_s))
            advance = fairshare.serve(flow.level, due_s, estimate_s=entry[2].seconds)
            flow.due_s = advance.due_s
            return entry[2]
        return None
