"""Progress bars on standard error; silent if it is not a terminal."""

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
    """Receives the progress of a step."""

    def advance(self, amount: int) -> None:
        """Advance by ``amount``, which is negative if a step starts again."""
        ...

    def show(self, done: int, total: int | None, message: str) -> None:
        """Set the progress; ``total`` is ``None`` if unknown."""
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


def is_enabled() -> bool:
    """Whether to show progress: on a terminal, unless ``HPCFAIR_QUIET`` is set."""
    return sys.stderr.isatty() and not os.environ.get("HPCFAIR_QUIET")


@contextmanager
def transferring(message: str, total_bytes: int) -> Iterator[Meter]:
    """A progress bar in bytes."""
    with _meter(message, total_bytes, DownloadColumn(), TransferSpeedColumn()) as meter:
        yield meter


@contextmanager
def working(message: str) -> Iterator[Meter]:
    """A progress bar in steps, whose total may be unknown or change."""
    with _meter(message, None, MofNCompleteColumn(), TimeElapsedColumn()) as meter:
        yield meter


@contextmanager
def _meter(message: str, total: int | None, *columns: ProgressColumn) -> Iterator[Meter]:
    if not is_enabled():
        yield _Silence()
        return
    text = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True)
    with Progress(text, BarColumn(), *columns, console=console, transient=True) as progress:
        yield _Bar(progress, message, total)
