"""Progress on long steps: a bar on a terminal, silence elsewhere. Always on standard error."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)


class Meter(Protocol):
    """Told how far a step is."""

    def advance(self, amount: int) -> None:
        """``amount`` more is done; negative where a step starts over."""
        ...

    def show(self, done: int, total: int | None, message: str) -> None:
        """Set where the step is; ``total`` is ``None`` where nobody knows."""
        ...


class _Bar:
    def __init__(self, progress: Progress, message: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(message, total=total)

    def advance(self, amount: int) -> None:
        self._progress.advance(self._task, amount)

    def show(self, done: int, total: int | None, message: str) -> None:
        self._progress.update(self._task, completed=done, total=total, description=message)


class _Silence:
    def advance(self, amount: int) -> None:
        pass

    def show(self, done: int, total: int | None, message: str) -> None:
        pass


def wanted() -> bool:
    """Whether a person watches: standard error is a terminal and ``HPCFAIR_QUIET`` is not set."""
    return sys.stderr.isatty() and not os.environ.get("HPCFAIR_QUIET")


@contextmanager
def transferring(message: str, total_bytes: int) -> Iterator[Meter]:
    """A meter of bytes."""
    with _meter(message, total_bytes, DownloadColumn(), TransferSpeedColumn()) as meter:
        yield meter


@contextmanager
def working(message: str) -> Iterator[Meter]:
    """A meter of steps whose number may be unknown or change."""
    with _meter(message, None, MofNCompleteColumn(), TimeElapsedColumn()) as meter:
        yield meter


@contextmanager
def _meter(message: str, total: int | None, *columns: ProgressColumn) -> Iterator[Meter]:
    if not wanted():
        yield _Silence()
        return
    text = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    with Progress(text, BarColumn(), *columns, console=console, transient=True) as progress:
        yield _Bar(progress, message, total)
