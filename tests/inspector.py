"""A worker that inspects what is committed during a test."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections

from registry.states import JobKind
from workers.jobs.run import drain


@pytest.fixture
def inspector(data_dir: Path, transactional_db: None) -> Iterator[None]:
    """Inspects what is committed while the test waits for it."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.05):
            drain([JobKind.INSPECT], here=None)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()
