"""One transfer by a real client, in a fresh process with empty caches.

``python -m benchmarks.clients VERB HUB REPOSITORY ARGUMENT`` prints its seconds, without the start
of Python; the token is in ``HF_TOKEN``::

    hf FILE        hf_hub_download into a new folder
    hpcfair FILE   hpcfair's pull into a new folder
    xet FILE       upload_file, by Xet
    inline COUNT   one commit of this many new files of 4 KiB
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from huggingface_hub import CommitOperationAdd, HfApi, hf_hub_download

from hpcfair import Client

SMALL_BYTES = 4096


def main(verb: str, hub: str, repository: str, argument: str) -> float:
    """Run the transfer; returns its duration in seconds."""
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
        began = time.perf_counter()
        match verb:
            case "hf":
                hf_hub_download(repository, argument, endpoint=hub, local_dir=folder)
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
        return time.perf_counter() - began


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
