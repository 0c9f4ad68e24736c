"""Many models of one owner, published at once, and a few of another one who waits for theirs."""

import base64
import hashlib
import json
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import httpx
import onnx
from onnx import TensorProto, helper

from benchmarks.report import say
from benchmarks.wire import Hub

_FILE = "model.onnx"
_POLL_S = 0.5
_TRIES = 200


class Flood:
    """Publishes ``count`` models of one owner in a thread while another owner publishes some.

    Attributes:
        published: Number of models of the flood that the hub acknowledged.
    """

    def __init__(self, flood: Hub, small: Hub, count: int) -> None:
        self._flood, self._small, self._count = flood, small, count
        self._acknowledged: dict[str, str] = {}
        self.published = 0

    def run(self, visits: int, patience_s: float) -> list[tuple[float, float]]:
        """Publish everything.

        Returns:
            The small owner's waits from each commit, in seconds: until its inspection ended, and
            until its search began.
        """
        thread = threading.Thread(target=self._publish_all)
        thread.start()
        while self.published < self._count / 5 and thread.is_alive():
            time.sleep(_POLL_S)
        waits_s = [self._visit(number, patience_s) for number in range(visits)]
        thread.join()
        return waits_s

    def lost(self, data: Path) -> int:
        """Acknowledged models whose bytes differ or are missing, or that have no inspection."""
        address, lost = self._small.address, 0
        with httpx.Client(base_url=address, timeout=60) as web:
            for name, sha256 in self._acknowledged.items():
                answer = _patiently(web, "GET", f"/{name}/resolve/main/{_FILE}")
                if hashlib.sha256(answer.content).hexdigest() != sha256:
                    say(f"{name}: {answer.status_code}, {len(answer.content)} bytes")
                    lost += 1
        return lost + self._without_inspection(data)

    def _without_inspection(self, data: Path) -> int:
        """Models whose inspection is neither done nor still to be done."""
        query = """
            SELECT count(*) FROM registry_mlmodel AS model WHERE NOT EXISTS (
                SELECT 1 FROM registry_job AS job
                JOIN registry_revision AS revision ON revision.id = job.revision_id
                WHERE revision.mlmodel_id = model.id AND job.kind = 'inspect'
                AND job.failure_class = ''
            )
        """
        with closing(sqlite3.connect(f"file:{data}/db.sqlite3?mode=ro", uri=True)) as database:
            return int(database.execute(query).fetchone()[0])

    def _publish_all(self) -> None:
        for number in range(self._count):
            self._publish(self._flood, f"flood/net-{number}", number)
            self.published += 1

    def _visit(self, number: int, patience_s: float) -> tuple[float, float]:
        name = f"small/net-{number}"
        self._publish(self._small, name, 100_000 + number)
        waits_s: list[float] = []
        started = time.perf_counter()
        with httpx.Client(base_url=self._small.address, timeout=60) as web:
            for kind, field in (("inspect", "ended_at"), ("tune", "started_at")):
                while time.perf_counter() - started < patience_s:
                    jobs = _patiently(web, "GET", f"/api/v1/jobs?model={name}&kind={kind}").json()
                    if any(job[field] for job in jobs["items"]):
                        break
                    time.sleep(_POLL_S)
                waits_s.append(time.perf_counter() - started)
        say(f"{name}: inspected after {waits_s[0]:.1f} s, searched after {waits_s[1]:.1f} s")
        return waits_s[0], waits_s[1]

    def _publish(self, hub: Hub, name: str, seed: int) -> None:
        content = _network(seed)
        headers = {"Authorization": f"Bearer {hub.token}"}
        namespace, _, short = name.partition("/")
        with httpx.Client(base_url=hub.address, headers=headers, timeout=60) as web:
            body = {"name": short, "organization": namespace}
            _patiently(web, "POST", "/api/repos/create", json.dumps(body).encode())
            lines = (
                {"key": "header", "value": {"summary": "Add a network"}},
                {
                    "key": "file",
                    "value": {"path": _FILE, "content": _base64(content), "encoding": "base64"},
                },
            )
            commit = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            _patiently(web, "POST", f"/api/models/{name}/commit/main", commit)
        self._acknowledged[name] = hashlib.sha256(content).hexdigest()


def _patiently(web: httpx.Client, method: str, path: str, body: bytes = b"") -> httpx.Response:
    """Repeat a request that the hub postpones, or could not take while it was restarted."""
    for _ in range(_TRIES):
        answer = web.request(method, path, content=body)
        if answer.status_code not in {429, 502, 503}:
            answer.raise_for_status()
            return answer
        time.sleep(float(answer.headers.get("Retry-After", 1)))
    raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text[:200]}")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _network(seed: int) -> bytes:
    """A valid network of one matrix product, different for each seed."""
    weight = helper.make_tensor("weight", TensorProto.FLOAT, [8, 4], [seed + 0.5] * 32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "weight"], ["y"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        [weight],
    )
    network = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(network)
    return bytes(network.SerializeToString())
