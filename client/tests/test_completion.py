"""Completion of names: from bundles, the cache and a hub that answers; never an error."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from hpcfair.cache import Cache
from hpcfair.client import Client
from hpcfair.commands.completion import complete_name
from hpcfair.digest import sha256_of_file
from hpcfair.tree import make_tree
from hpcfair.types import File


class _Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        names = ["lab/net", "lab/other"] if query.get("by") == ["lab"] else ["lab/net"]
        body = json.dumps({"items": [{"name": name} for name in names]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with HTTPServer(("127.0.0.1", 0), _Hub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("HPCFAIR_URL", f"http://127.0.0.1:{server.server_port}")
        yield
        server.shutdown()
        thread.join()


def test_names_are_completed_from_the_hub(live: None) -> None:
    assert complete_name("lab/n") == ["lab/net"]
    assert complete_name("lab/") == ["lab/net", "lab/other"]
    assert complete_name("l") == ["lab/net"]


def test_without_a_hub_the_cache_and_bundles_count(
    home: Path, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    # Nobody listens there.
    monkeypatch.setenv("HPCFAIR_URL", "http://127.0.0.1:1")
    monkeypatch.chdir(home)
    (home / "large.hpcfair").touch()
    part = home / "part"
    part.write_bytes(b"net")
    cache = Cache(client.config.cache)
    file = File("net.onnx", sha256_of_file(part), 3)
    cache.keep_blob(part, file.sha256)
    make_tree(cache, [file], what="lab/cached")
    assert complete_name("la") == ["lab/cached", "large.hpcfair"]
    monkeypatch.setenv("HPCFAIR_URL", "no address")
    assert complete_name("la") == []
