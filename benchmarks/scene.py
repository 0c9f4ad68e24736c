"""The servers and files of the transfer benchmarks: the hub, nginx, one large file, small ones.

::

    hub          client -> proxy -> web servers     as `make serve` and containers run it
    nginx        client -> nginx                    the same files, linked from the blob store
    loopback     client -> sendfile(2)              the large file alone

All read the same bytes from the same page cache. A second hub, behind a proxy that counts bytes,
serves what is counted and not timed.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import clients, servers
from benchmarks.proxy import CountingProxy
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
        counted: The second hub; ``counter`` is the proxy before it.
        process: Of the supervisor of the hub.
    """

    folder: Path
    hub: Hub
    counted: Hub
    counter: CountingProxy
    nginx: str
    loopback: str
    large: bytes
    small: list[str]
    process: int

    def memory_mib(self) -> float:
        """What the web processes of the hub hold."""
        return servers.memory_mib(self.process)

    def client(self, verb: str, repository: str, argument: str, hub: Hub | None = None) -> float:
        """Seconds a real client took against the hub, or another one; see ``clients.py``."""
        return clients.run(verb, hub or self.hub, repository, argument, self.folder).seconds


@contextmanager
def scene(folder: Path, *, size_mib: int, small: int) -> Iterator[Scene]:
    """Start everything, publish the files, and end it all with the block."""
    data, files = folder / "data", folder / "files"
    ports = {name: servers.free_port() for name in ("static", "hub", "behind", "counted")}
    with ExitStack() as stack:
        say("starting the hub, another one to count bytes, and nginx")
        own = {"HPCFAIR_URL": servers.address(ports["hub"])}
        process = stack.enter_context(servers.hub(data, ports["hub"], own))
        counter = CountingProxy(ports["behind"], ports["counted"])
        counted = {"HPCFAIR_URL": servers.address(ports["counted"])}
        other = folder / "counted"
        stack.enter_context(servers.hub(other, ports["behind"], counted))
        stack.enter_context(counter.running())
        stack.enter_context(servers.nginx(home=folder / "nginx", files=files, port=ports["static"]))
        hub = Hub(servers.address(ports["hub"]), servers.token(data, "bench"))
        counted_hub = Hub(servers.address(ports["counted"]), servers.token(other, "bench"))
        counted_hub.create(INBOX)
        say(f"publishing {size_mib} MiB and {small} files of {SMALL_BYTES} bytes")
        contents = {LARGE: os.urandom(size_mib << 20)}
        for number in range(small):
            contents[f"{number:04}.txt"] = os.urandom(SMALL_BYTES // 2).hex().encode()
        _publish(hub, contents)
        _link(data / "blobs", files, contents)
        yield Scene(
            folder=folder,
            hub=hub,
            counted=counted_hub,
            counter=counter,
            nginx=servers.address(ports["static"]),
            loopback=stack.enter_context(_loopback(files / LARGE)),
            large=contents[LARGE],
            small=[name for name in contents if name != LARGE],
            process=process,
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
