"""Clients that occupy a thread, and are too slow for it."""

import socket
from collections.abc import Iterator

import pytest

from hub import pace
from hub.pace import PacedSocket, TooSlowError


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[PacedSocket, socket.socket]]:
    """The hub's end of a connection, and its client's; the hub's clock is :class:`Clock`."""
    ours, theirs = socket.socketpair()
    with PacedSocket(fileno=ours.detach()) as paced, theirs:
        yield paced, theirs


class Clock:
    """Each look at it takes as long as the client needs for what it sends next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self._seconds, self._now = seconds, 0.0
        monkeypatch.setattr("hub.pace.time.monotonic", self)

    def __call__(self) -> float:
        self._now += self._seconds
        return self._now


def test_a_byte_a_second_is_too_slow(
    ends: tuple[PacedSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, 1.0)
    ours, theirs = ends
    theirs.sendall(b"a" * 1000)
    for _ in range(int(pace.WINDOW_S) - 1):
        ours.recv(1)
    with pytest.raises(TooSlowError, match="30 bytes in 30 s"):
        ours.recv(1)


def test_a_slow_and_steady_upload_lasts_as_long_as_it_likes(
    ends: tuple[PacedSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch, 1.0)
    ours, theirs = ends
    for _ in range(1000):
        theirs.sendall(b"a" * (pace.LEAST_BYTES_S + 100))
        ours.recv(8192)


def test_only_waiting_counts(
    ends: tuple[PacedSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, 0.001)
    ours, theirs = ends
    for _ in range(100):
        theirs.sendall(b"a")
        ours.recv(8192)
        # The hub computes, or the connection is idle between two requests.
        clock._now += 60


def test_a_client_that_does_not_read_loses_its_connection(
    ends: tuple[PacedSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "WINDOW_S", 0.1)
    monkeypatch.setattr(pace, "LEAST_BYTES_S", 2**30)
    ours, _ = ends
    with pytest.raises(TooSlowError):
        ours.sendall(b"a" * 2**24)
    assert ours.gettimeout() is None
