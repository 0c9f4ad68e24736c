"""One cache, many processes, some of them killed, where locks cannot be relied on."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.transport import Transport
from hpcfair.tree import find_tree
from hpcfair.types import File

PROCESSES = 32 if os.environ.get("HPCFAIR_CLIENTS") == "all" else 16
VERSIONS = 4

#: Forks the processes, which race for each version of a model, and kills a third of them. Locks lie
#: or fail, as they do on some parallel file systems.
SWARM = """
import errno, fcntl, hashlib, json, os, random, signal, sys, time
from pathlib import Path
from hpcfair.cache import Cache
from hpcfair.config import Config
from hpcfair.download import fetch_tree
from hpcfair.transport import Transport
from hpcfair.types import File

url, root, count, locks, listed = sys.argv[1:]
versions = [[File.from_json(item) for item in files] for files in json.loads(listed)]
cache = Cache(Path(root))
digests = {file.sha256 for files in versions for file in files}

def lock(*_):
    if locks == "fail":
        raise OSError(errno.ENOSYS, "Function not implemented")

fcntl.flock = fcntl.lockf = os.lockf = lock

def work():
    with Transport(Config(url, None, cache.root)) as http:
        for files in versions:
            fetch_tree(http, cache, files, what="lab/tiny")
            # Whatever is visible must be whole, whoever wrote it.
            for path in cache.root.glob("trees/*/files/*"):
                assert hashlib.sha256(path.read_bytes()).hexdigest() in digests, path
            for blob in cache.root.glob("blobs/*/*"):
                assert hashlib.sha256(blob.read_bytes()).hexdigest() == blob.name, blob

children = []
for number in range(int(count)):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(f"{number}: {error!r}\\n")
            os._exit(1)
        os._exit(0)
    children.append(child)
chance = random.Random(72)
victims = children[:: 3]
for victim in victims:
    time.sleep(chance.uniform(0, 0.03))
    os.kill(victim, signal.SIGKILL)
ends = {child: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children}
assert all(ends[child] == 0 for child in children if child not in victims), ends
print(sum(end == -signal.SIGKILL for end in ends.values()))
"""


@pytest.fixture
def versions(tmp_path: Path) -> list[list[File]]:
    """Files of four versions of a model, as a server has them."""
    folder = tmp_path / "served"
    folder.mkdir()
    listed = []
    for version in range(VERSIONS):
        files = []
        for name, size in (("model.onnx", 20_000), ("weights.bin", 300_000)):
            data = f"{version} {name} ".encode() * (size // 10)
            digest = hashlib.sha256(data).hexdigest()
            (folder / digest).write_bytes(data)
            files.append(File(name, digest, len(data), f"/{digest}"))
        listed.append(files)
    return listed


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

        def handle_error(self, *_: object) -> None:
            """A killed client breaks its connection."""

    with Server(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "served"))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("locks", ["succeed for all", "fail"])
def test_no_process_reads_a_torn_file(
    locks: str, url: str, versions: list[list[File]], tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache")
    listed = json.dumps([[asdict(file) for file in files] for files in versions])
    arguments = [url, str(cache.root), str(PROCESSES), locks, listed]

    swarm = subprocess.run(
        [sys.executable, "-c", SWARM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert swarm.returncode == 0, swarm.stderr
    assert int(swarm.stdout) > 0, "no process was killed at work"
    for files in versions:
        assert find_tree(cache, files, thorough=True)


def test_what_a_killed_process_left_is_resumed_and_nobody_waits_for_it(
    hub: Any, http: Transport, config: Config
) -> None:
    data = b"weights" * 1000
    file = File.from_json(hub.keep(data, "model.onnx"))
    cache = Cache(config.cache)
    part = cache.partials.start(file.sha256)
    part.write_bytes(data[:3000])

    # It may still be at work: another one does not touch it, and does not wait either.
    began = time.monotonic()
    fetch_tree(http, cache, [file], what="lab/tiny")
    assert time.monotonic() - began < 5
    assert part.stat().st_size == 3000

    os.utime(part, (time.time() - 600,) * 2)
    cache.drop_blob(file.sha256)
    hub.requests.clear()
    resumed = cache.partials.start(file.sha256)
    assert resumed.read_bytes() == data[:3000]
    assert not part.exists()
    cache.partials.leave(resumed)
    fetch_tree(http, cache, [file], what="lab/tiny", verify=True)
    (folder,) = cache.root.glob("trees/*")
    (folder / "files" / "model.onnx").unlink()
    fetch_tree(http, cache, [file], what="lab/tiny")
    assert [each.headers["Range"] for each in hub.calls("GET", file.url)] == ["bytes=3000-"]
