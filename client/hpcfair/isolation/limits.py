"""Limits of a child process."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child process. Exceeding one ends the child, never its parent."""

    wall_s: float = 300.0
    memory_bytes: int = 8 * 2**30
    file_bytes: int = 8 * 2**30
