"""Real ranks of MPI load a model with the requests of one."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.clients.environments import CLIENTS, SCRIPTS

RANKS = 4
DATA = {"model.onnx": b"graph" * 1000, "weights.bin": bytes(range(256)) * 200_000}
ANSWER = {
    "revision": "1" * 40,
    "build": None,
    "reason": "",
    "files": [
        {
            "path": path,
            "sha256": hashlib.sha256(data).hexdigest(),
            "size_bytes": len(data),
            "url": f"/{path}",
        }
        for path, data in DATA.items()
    ],
    "entry_point": "model.onnx",
    "signature": {"inputs": [], "outputs": []},
}


class Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests: list[str]

    def do_POST(self) -> None:  # the name http.server wants
        self.rfile.read(int(self.headers["Content-Length"]))
        if "absent" in self.path:
            self._send(404, json.dumps({"code": "model_not_found"}).encode())
        else:
            self._send(200, json.dumps(ANSWER).encode())

    def do_GET(self) -> None:
        self._send(200, DATA[self.path[1:]])

    def _send(self, status: int, body: bytes) -> None:
        self.requests.append(f"{self.command} {self.path}")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Any]:
    Hub.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_ranks_load_together(hub: Any, tmp_path: Path) -> None:
    try:
        python = CLIENTS.python_of("mpi")
    except RuntimeError as error:
        pytest.skip(f"mpi4py and MPICH are not installed: {str(error).splitlines()[-1]}")
    script = str(SCRIPTS / "mpi_load.py")
    address = f"http://127.0.0.1:{hub.server_port}"

    lines = CLIENTS.run(
        "mpi",
        "mpiexec",
        *("-n", str(RANKS), str(python), script, address, str(tmp_path)),
        PYTHONPATH=str(Path(__file__).parents[2] / "client"),
        HOME=str(tmp_path),
    ).splitlines()

    digests = [hashlib.sha256(DATA[path]).hexdigest() for path in sorted(DATA)]
    same = {"shared": digests, "local": digests, "refusal": "model_not_found"}
    assert [json.loads(line) for line in lines] == [same] * RANKS
    # Once for all ranks, in each of the three loads. Files are fetched side by side.
    resolve, absent = (f"POST /api/v1/models/lab/{name}/resolve" for name in ("tiny", "absent"))
    files = ["GET /model.onnx", "GET /weights.bin"]
    requests = Hub.requests
    assert [requests[0], requests[3], *requests[6:]] == [resolve, resolve, absent]
    assert [sorted(requests[1:3]), sorted(requests[4:6])] == [files, files]
