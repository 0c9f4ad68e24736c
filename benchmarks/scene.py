"""The servers and files of the transfer benchmarks: two hubs, nginx, one large file, small ones.

::

    embedded     client -> gunicorn                 as `make serve` runs it
    production   client -> nginx -> gunicorn        docker/nginx.conf; nginx sends the files
    nginx        client -> nginx                    the same files, linked from the blob store
    loopback     client -> sendfile(2)              the large file alone

Both hubs share a data folder, so that all read the same bytes from the same page cache.
"""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import servers
from benchmarks.report import say
from benchmarks.wire import Hub

SMALL_BYTES = 4096
LARGE = "large.bin"
BIG, MANY, INBOX = "bench/big", "bench/many", "bench/inbox"


@dataclass(frozen=True)
class Scene:
    """Running servers, and the files that they serve.

    Attributes:
        folder: For temporary files, on the disk the hub writes to.
        nginx: Address of nginx alone: GET ``/files/...``, PUT ``/put/...``.
        loopback: Address of the raw file.
        large: Content of the large file.
        processes: Of the supervisors of both hubs.
    """

    folder: Path
    embedded: Hub
    production: Hub
    nginx: str
    loopback: str
    large: bytes
    small: list[str]
    processes: tuple[int, int]

    def memory_mib(self) -> tuple[float, float]:
        """What the web processes of both hubs hold."""
        first, second = (servers.memory_mib(process) for process in self.processes)
        return first, second

    def bytes_sent(self) -> int:
        """Bytes of all requests to the hub behind nginx so far, heads included."""
        port = self.production.address.rpartition(":")[2]
        lines = (self.folder / "nginx" / "access.log").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.split()[0] == port)

    def client(self, verb: str, repository: str, argument: str) -> float:
        """Seconds a real client took against the hub behind nginx; see ``clients.py``."""
        home = self.folder / f"home-{random.randbytes(6).hex()}"  # noqa: S311
        home.mkdir()
        environment = os.environ | {
            "HF_HOME": str(home),
            "HF_TOKEN": self.production.token,
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HPCFAIR_CACHE": str(home / "hpcfair"),
            "HPCFAIR_CONFIG": str(home),
            "HPCFAIR_QUIET": "1",
            "HPCFAIR_TOKEN": self.production.token,
            "HPCFAIR_URL": self.production.address,
        }
        command = [sys.executable, "-m", "benchmarks.clients", verb]
        done = subprocess.run(
            [*command, self.production.address, repository, argument],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            cwd=servers.ROOT,
        )
        return float(done.stdout)


@contextmanager
def scene(folder: Path, *, size_mib: int, small: int) -> Iterator[Scene]:
    """Start everything, publish the files, and end it all with the block."""
    data, files = folder / "data", folder / "files"
    ports = {name: servers.free_port() for name in ("static", "production", "web", "embedded")}
    with ExitStack() as stack:
        say("starting the hub, the hub behind nginx, and nginx")
        own = {"HPCFAIR_URL": servers.address(ports["embedded"])}
        processes = (
            stack.enter_context(servers.hub(data, ports["embedded"], own)),
            stack.enter_context(
                servers.hub(data, ports["web"], servers.production(ports["production"]))
            ),
        )
        stack.enter_context(
            servers.nginx(home=folder / "nginx", data=data, files=files, ports=ports)
        )
        token = servers.token(data, "bench")
        embedded = Hub(servers.address(ports["embedded"]), token)
        production = Hub(servers.address(ports["production"]), token)
        say(f"publishing {size_mib} MiB and {small} files of {SMALL_BYTES} bytes")
        contents = {LARGE: os.urandom(size_mib << 20)}
        for number in range(small):
            contents[f"{number:04}.txt"] = os.urandom(SMALL_BYTES // 2).hex().encode()
        _publish(production, contents)
        _link(data / "blobs", files, contents)
        yield Scene(
            folder=folder,
            embedded=embedded,
            production=production,
            nginx=servers.address(ports["static"]),
            loopback=stack.enter_context(_loopback(files / LARGE)),
            large=contents[LARGE],
            small=[name for name in contents if name != LARGE],
            processes=processes,
        )


def _publish(hub: Hub, contents: dict[str, bytes]) -> None:
    for repository in (BIG, MANY, INBOX):
        hub.create(repository)
    hub.put_large(BIG, contents[LARGE])
    hub.commit(BIG, large={LARGE: contents[LARGE]})
    hub.commit(MANY, small={name: data for name, data in contents.items() if name != LARGE})


def _link(blobs: Path, files: Path, contents: dict[str, bytes]) -> None:
    stored = {place.name: place for place in blobs.rglob("*") if place.is_file()}
    files.mkdir()
    for name, data in contents.items():
        (files / name).hardlink_to(stored[hashlib.sha256(data).hexdigest()])


@contextmanager
def _loopback(file: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks.loopback", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=servers.ROOT)
    try:
        assert process.stdout is not None
        yield servers.address(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
