"""A simulated machine under a virtual clock."""

from collections.abc import Iterator

import pytest

from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.testing.simulation import SimulatedDevice, VirtualClock

from .cast import NETWORK, TARGET


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def device(clock: VirtualClock) -> Iterator[SimulatedDevice]:
    backends = {"fake": FakeBackend(), "faulty": FaultyBackend()}
    with SimulatedDevice(backends, NETWORK, TARGET, clock) as opened:
        yield opened
