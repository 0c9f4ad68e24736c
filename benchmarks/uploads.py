"""Upload benchmarks."""

import hashlib
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.load import Connection
from benchmarks.report import Figure, counted, ratio, say, spread
from benchmarks.rounds import take_turns
from benchmarks.scene import INBOX, SMALL_BYTES, Scene
from benchmarks.wire import Hub

_PIECE_BYTES = 1 << 20


def large(scene: Scene, rounds: int) -> dict[str, Figure]:
    """Throughput of a new large file by LFS, compared with nginx and the limit."""
    mib = len(scene.large) / 2**20
    times = take_turns(
        "upload",
        {
            "hub": partial(_put, scene.hub, scene.large),
            "nginx": partial(_put_nginx, scene.nginx, scene.large),
            "limit": partial(_limit, scene.folder, scene.large),
            "xet": partial(_xet, scene),
        },
        rounds,
        unit_of=mib,
    )
    figures = {
        "upload_vs_limit": ratio(times["limit"], times["hub"]),
        "upload_vs_nginx": ratio(times["nginx"], times["hub"]),
    }
    for name, series in times.items():
        figures[f"upload_{name}"] = spread([mib / seconds for seconds in series], "MiB/s")
    return figures


def small(scene: Scene, rounds: int) -> dict[str, Figure]:
    """Rate of many small files: one commit of all, compared with as many requests to nginx."""
    count = len(scene.small)
    times = take_turns(
        "small uploads",
        {
            "commit": partial(scene.client, "inline", INBOX, str(count)),
            "nginx": partial(_put_all_nginx, scene.nginx, count),
        },
        rounds,
    )
    figures = {"small_uploads_vs_nginx": ratio(times["nginx"], times["commit"])}
    for name, series in times.items():
        figures[f"small_uploads_{name}"] = spread(
            [count / seconds for seconds in series], "files/s"
        )
    return figures


def resend(scene: Scene, mib: int) -> dict[str, Figure]:
    """Share of a file that the real client sends again after an edit of 0.01 % of it."""
    file = scene.folder / "edited.bin"
    size = mib << 20
    with file.open("wb") as stream:
        for _ in range(mib):
            stream.write(os.urandom(1 << 20))
    edits: dict[str, Callable[[], None]] = {
        "overwritten": partial(_overwrite, file, size),
        "inserted": partial(_insert, file, size),
    }
    say(f"resend: sending {mib} MiB")
    start = scene.counter.received_bytes
    took_s = scene.client("xet", INBOX, str(file), scene.counted)
    whole = scene.counter.received_bytes - start
    figures = {"xet_first_upload": counted(mib / took_s, "MiB/s")}
    parts = []
    for name, edit in edits.items():
        edit()
        start = scene.counter.received_bytes
        scene.client("xet", INBOX, str(file), scene.counted)
        parts.append((scene.counter.received_bytes - start) / whole)
        say(f"resend: {parts[-1]:.4%} after 0.01 % was {name}")
    figures["resend_fraction"] = Figure(parts[0], min(parts), max(parts), "ratio")
    file.unlink()
    return figures


def _stamped(data: bytes) -> bytearray:
    fresh = bytearray(data)
    for start in range(0, len(fresh), _PIECE_BYTES):
        fresh[start : start + 16] = os.urandom(16)
    return fresh


def _put(hub: Hub, data: bytes) -> float:
    return hub.put_large(INBOX, _stamped(data))


def _put_nginx(address: str, data: bytes) -> float:
    fresh = _stamped(data)
    with Connection(address) as connection:
        return connection.ask("PUT", "/put/large.bin", body=fresh).last_byte_s


def _put_all_nginx(address: str, count: int) -> float:
    took_s = 0.0
    with Connection(address) as connection:
        for number in range(count):
            data = os.urandom(SMALL_BYTES)
            took_s += connection.ask("PUT", f"/put/{number}.txt", body=data).last_byte_s
    return took_s


def _limit(folder: Path, data: bytes) -> float:
    """Both digests and a durable write, in parallel, of bytes in memory."""
    fresh = memoryview(_stamped(data))
    file = folder / "limit.bin"
    digests = (hashlib.sha256(), hashlib.sha1(usedforsecurity=False))
    with ThreadPoolExecutor(len(digests)) as pool, file.open("wb", buffering=0) as stream:
        began = time.perf_counter()
        running = [pool.submit(digest.update, fresh) for digest in digests]
        for start in range(0, len(fresh), _PIECE_BYTES):
            stream.write(fresh[start : start + _PIECE_BYTES])
        os.fsync(stream.fileno())
        for digest in running:
            digest.result()
        took_s = time.perf_counter() - began
    file.unlink()
    return took_s


def _xet(scene: Scene) -> float:
    file = scene.folder / "sent.bin"
    file.write_bytes(os.urandom(len(scene.large)))
    return scene.client("xet", INBOX, str(file))


def _overwrite(file: Path, size: int) -> None:
    length = size // 10_000
    with file.open("r+b") as stream:
        stream.seek(random.randrange(size - length))  # noqa: S311
        stream.write(os.urandom(length))


def _insert(file: Path, size: int) -> None:
    place = random.randrange(size // 4, size // 2)  # noqa: S311
    edited = file.with_suffix(".new")
    with file.open("rb") as old, edited.open("wb") as new:
        left = place
        while left:
            left -= new.write(old.read(min(left, _PIECE_BYTES)))
        new.write(os.urandom(size // 10_000))
        while piece := old.read(_PIECE_BYTES):
            new.write(piece)
    edited.replace(file)
