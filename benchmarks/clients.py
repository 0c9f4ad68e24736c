"""One transfer by a real client, in a fresh process with empty caches.

``python -m benchmarks.clients VERB HUB REPOSITORY ARGUMENT`` prints its seconds, without the start
of Python, and the share of the machine's processors that worked meanwhile; the token is in
``HF_TOKEN``::

    hf FILE        hf_hub_download into a new folder
    snapshot -     snapshot_download into a new folder
    hpcfair -      hpcfair's pull into a new folder
    xet FILE       upload_file, by Xet
    inline COUNT   one commit of this many new files of 4 KiB
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import CommitOperationAdd, HfApi, hf_hub_download, snapshot_download

from benchmarks import servers
from benchmarks.processors import BusyShare
from benchmarks.wire import Hub
from hpcfair import Client

SMALL_BYTES = 4096


class Transfer(NamedTuple):
    """Duration of a transfer, and share of the time of all processors that was used meanwhile."""

    seconds: float
    busy: float


def run(
    verb: str, hub: Hub, repository: str, argument: str, folder: Path, **variables: str
) -> Transfer:
    """A transfer by a fresh process.

    Args:
        folder: For its caches and files.
        variables: Further variables of its environment.
    """
    home = folder / f"home-{random.randbytes(6).hex()}"  # noqa: S311
    home.mkdir()
    environment = os.environ | {
        "HF_HOME": str(home),
        "HF_TOKEN": hub.token,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HPCFAIR_CACHE": str(home / "hpcfair"),
        "HPCFAIR_CONFIG": str(home),
        "HPCFAIR_QUIET": "1",
        "HPCFAIR_TOKEN": hub.token,
        "HPCFAIR_URL": hub.address,
    }
    command = [sys.executable, "-m", "benchmarks.clients", verb]
    done = subprocess.run(
        [*command, hub.address, repository, argument],
        env=environment | variables,
        stdout=subprocess.PIPE,
        check=True,
        cwd=servers.ROOT,
    )
    seconds, busy = map(float, done.stdout.split())
    return Transfer(seconds, busy)


def main(verb: str, hub: str, repository: str, argument: str) -> Transfer:
    """Run the transfer."""
    with tempfile.TemporaryDirectory(dir=os.environ["HF_HOME"]) as folder:
        api = HfApi(endpoint=hub)
        operations = []
        if verb == "inline":
            operations = [
                CommitOperationAdd(
                    f"small/{number:04}.txt", os.urandom(SMALL_BYTES // 2).hex().encode()
                )
                for number in range(int(argument))
            ]
        busy, began = BusyShare(), time.perf_counter()
        match verb:
            case "hf":
                hf_hub_download(repository, argument, endpoint=hub, local_dir=folder)
            case "snapshot":
                snapshot_download(repository, endpoint=hub, local_dir=folder)
            case "hpcfair":
                with Client(hub) as client:
                    client.pull(repository, folder)
            case "xet":
                api.upload_file(
                    path_or_fileobj=argument,
                    path_in_repo=Path(argument).name,
                    repo_id=repository,
                )
            case "inline":
                api.create_commit(repository, operations, commit_message="Many small files")
            case _:
                raise SystemExit(f"unknown verb {verb!r}")
        return Transfer(time.perf_counter() - began, busy.read())


if __name__ == "__main__":
    print(*main(*sys.argv[1:]))
