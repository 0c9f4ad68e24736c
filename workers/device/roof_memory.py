"""Timed copies and triads of arrays on all cores. Runs in child processes only.

The triad ``a = b + s * c`` and the copy ``a = b`` are those of STREAM (McCalpin, 1995): traffic is
counted as the bytes of the arrays, without the lines that a cache reads before it writes them.
NumPy releases the interpreter's lock in both, so that threads run in parallel. The triad is done in
blocks that fit the first caches, because NumPy needs an intermediate result.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

_ITEM_BYTES: Final = 8
#: Elements of a block of the triad: 64 KiB.
_BLOCK: Final = 8192

#: The prepared operation of this process.
_PREPARED: dict[str, Any] = {}


def prepare(kind: str, array_bytes: int, threads: int, repeats: int) -> None:
    """Allocate the arrays of an operation, ``copy`` or ``triad``, each part by its own thread.

    ``array_bytes`` are those of each array over all threads. A part that a thread touches first
    lies in the memory nearest to it.
    """
    _PREPARED.clear()
    elements = max(array_bytes // _ITEM_BYTES // threads, 1)
    pool = ThreadPoolExecutor(threads)
    make = _copy if kind == "copy" else _triad
    parts = list(pool.map(lambda _: make(elements, repeats), range(threads)))
    _PREPARED.update(pool=pool, parts=parts, threads=threads)


def time_samples(samples: int) -> list[int]:
    """Nanoseconds of ``samples`` consecutive repetitions, from the first thread's start to the last
    one's end."""
    pool, parts = _PREPARED["pool"], _PREPARED["parts"]
    timed = []
    for _ in range(samples):
        started = time.perf_counter_ns()
        for done in [pool.submit(part) for part in parts]:
            done.result()
        timed.append(time.perf_counter_ns() - started)
    return timed


def _copy(elements: int, repeats: int) -> Callable[[], None]:
    a, b = np.zeros(elements), np.ones(elements)

    def run() -> None:
        for _ in range(repeats):
            np.copyto(a, b)

    run()
    return run


def _triad(elements: int, repeats: int) -> Callable[[], None]:
    a, b, c = np.zeros(elements), np.ones(elements), np.ones(elements)
    product = np.empty(min(_BLOCK, elements))
    blocks = [slice(at, min(at + _BLOCK, elements)) for at in range(0, elements, _BLOCK)]

    def run() -> None:
        for _ in range(repeats):
            for block in blocks:
                scaled = product[: block.stop - block.start]
                np.multiply(c[block], 3.0, out=scaled)
                np.add(b[block], scaled, out=a[block])

    run()
    return run
