"""Sizes, time spans and a progress line for the commands of operators."""

import argparse
import re
import sys
import time
from datetime import timedelta

_UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)")


def size(text: str) -> int:
    """``50GiB`` as bytes."""
    match = _NUMBER.fullmatch(text.strip())
    if not match or match[2].upper() not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 500MiB, 50GiB or 2TiB")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def span(text: str) -> timedelta:
    """``24h`` as a time span."""
    match = _NUMBER.fullmatch(text.strip())
    if not match or (match[2] or "s") not in _SPANS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time span; write 90s, 30m, 24h or 7d")
    return timedelta(seconds=float(match[1]) * _SPANS[match[2] or "s"])


def spelled(size_bytes: int) -> str:
    """Bytes with a unit: ``1.5 GiB``."""
    number = float(size_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


class ProgressLine:
    """A progress line on standard error, overwritten in place; silent if that is no terminal."""

    def __init__(self) -> None:
        self._on = sys.stderr.isatty()
        self._last = 0.0

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        if not self._on or (done and time.monotonic() - self._last < 0.1):
            return
        self._last = time.monotonic()
        count = f" {done} of {total}" if total else f" {done}" if done else ""
        sys.stderr.write(f"\r\x1b[K{what}{count}...")
        sys.stderr.flush()

    def clear(self) -> None:
        """Erase the line, before other output."""
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
