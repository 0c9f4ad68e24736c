"""Uploads by hf_xet in a process of its own: nothing of the last one's cache is in its memory."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from registry.selectors.storage.blob import blob_open, blobs_usable
from registry.tables import User, Xorb

# As huggingface_hub's _commit_api.py does it. Prints a line per file.
_SCRIPT = """
import json, sys
import hf_xet
url, token, *paths = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}"}
with hf_xet.XetSession().new_upload_commit(
    token_refresh_url=url, token_refresh_headers=headers
) as commit:
    handles = [commit.start_upload_file(path) for path in paths]
for handle in handles:
    result = handle.result()
    print(json.dumps({"xet": result.xet_info.hash, "sha256": result.xet_info.sha256}))
"""


@dataclass(frozen=True)
class XetClient:
    """A client with a cache of its own.

    Attributes:
        home: Its ``HF_HOME``.
        token: The secret it signs in with.
    """

    hub_url: str
    home: Path
    token: str

    def ticket(self, repository: str, rev: str = "main", **query: str) -> dict[str, Any]:
        """What the client is told: ``casUrl``, ``accessToken`` and ``exp``."""
        url = f"{self.hub_url}/api/{repository}/xet-write-token/{rev}"
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.get(url, params=query, headers=headers).raise_for_status()
        told: dict[str, Any] = answer.json()
        return told

    def start(
        self, repository: str, paths: Sequence[Path], *, query: str = "", **environment: str
    ) -> "subprocess.Popen[str]":
        """Begin to upload files to ``models/ns/name``."""
        url = f"{self.hub_url}/api/{repository}/xet-write-token/main{query}"
        given = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
        return subprocess.Popen(
            [sys.executable, "-c", _SCRIPT, url, self.token, *map(str, paths)],
            env=given | {"HF_HOME": str(self.home)} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def upload(
        self, repository: str, *paths: Path, query: str = "", **environment: str
    ) -> list[dict[str, Any]]:
        """Upload files; the hashes the client names each by, ``xet`` and ``sha256``."""
        with self.start(repository, paths, query=query, **environment) as process:
            out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]

    def failure(self, repository: str, *paths: Path, query: str = "") -> str:
        """What the client says when it cannot upload; it must not take minutes to say so."""
        with self.start(repository, paths, query=query) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode != 0
        return err


ClientOf: TypeAlias = Callable[..., XetClient]


def content_of(user: User, sha256: str) -> bytes:
    """The bytes, which ``user`` may name in a commit."""
    with blob_open(blobs_usable(user, [sha256])[sha256]) as stream:
        return stream.read()


def packed_bytes() -> int:
    """The length of all payloads that are kept: what was sent and was new."""
    return sum(Xorb.objects.exclude(payload=None).values_list("payload__size_bytes", flat=True))
