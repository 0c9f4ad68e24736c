"""Searches on the simulated machine."""

from collections.abc import Sequence

from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.backends.fake.kernels import DEFAULT_S, latency_s
from workers.engine.ports import Backend
from workers.engine.stores import MemoryStore
from workers.engine.tune import SearchResult, tune
from workers.engine.types import Budget, Candidate, Options, Prior, Ticket, Trial
from workers.testing.simulation import SimulatedDevice

from .cast import TARGET, WORKLOAD

BACKENDS: dict[str, Backend] = {"fake": FakeBackend(), "faulty": FaultyBackend()}
DEFAULT = FakeBackend().default(WORKLOAD, TARGET)


def a_ticket(trials: int | None = 12, **changes: object) -> Ticket:
    budget = Budget(seconds=None, trials=trials, patience=None, **changes)  # type: ignore[arg-type]
    return Ticket(WORKLOAD, TARGET, ("fake",), budget, reference_backend="fake")


def search(
    device: SimulatedDevice, ticket: Ticket | None = None, store: MemoryStore | None = None
) -> SearchResult:
    ticket, store = ticket or a_ticket(), store or MemoryStore()
    return tune(ticket, BACKENDS, device, store, clock=device.clock)


def stored(trials: Sequence[Trial]) -> MemoryStore:
    """What a search finds when it is resumed after these."""
    store = MemoryStore()
    for trial in trials:
        store.add(trial)
    return store


def true_ratio(options: Options) -> float:
    return latency_s(options) / DEFAULT_S


def only(*options: Options, backend: str = "fake") -> MemoryStore:
    """A store whose history makes a ``default`` search try just these."""
    return MemoryStore([Prior(Candidate(backend, o), 0.5, "exact") for o in options])
