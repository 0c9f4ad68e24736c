"""Searches on the simulated machine."""

from collections.abc import Sequence

from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.backends.fake.kernels import DEFAULT_S, latency_s
from workers.engine.ports import Backend
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.search_result import SearchResult
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.trials import Prior, Trial
from workers.engine.tune import tune
from workers.engine.types import Candidate, Options
from workers.testing.simulation import SimulatedDevice

from .cast import NETWORK, TARGET

BACKENDS: dict[str, Backend] = {"fake": FakeBackend(), "faulty": FaultyBackend()}
DEFAULT = FakeBackend().default(NETWORK, TARGET)


def a_request(trials: int | None = 12, **changes: object) -> TuningRequest:
    budget = SearchBudget(seconds=None, trials=trials, patience=None, **changes)  # type: ignore[arg-type]
    return TuningRequest(NETWORK, TARGET, ("fake",), budget, reference_backend="fake")


def search(
    device: SimulatedDevice,
    request: TuningRequest | None = None,
    store: MemoryTrialStore | None = None,
) -> SearchResult:
    request, store = request or a_request(), store or MemoryTrialStore()
    return tune(request, BACKENDS, device, store, clock=device.clock)


def stored(trials: Sequence[Trial]) -> MemoryTrialStore:
    """What a search finds when it is resumed after these."""
    store = MemoryTrialStore()
    for trial in trials:
        store.add(trial)
    return store


def true_ratio(options: Options) -> float:
    return latency_s(options) / DEFAULT_S


def only(*options: Options, backend: str = "fake") -> MemoryTrialStore:
    """A store whose history makes a ``default`` search try just these."""
    return MemoryTrialStore([Prior(Candidate(backend, o), 0.5, "exact") for o in options])
