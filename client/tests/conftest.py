"""A hub that exists only in memory, and a home of its own for every test."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair import machine
from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.retry import Retry
from hpcfair.transport import Transport

URL = "https://hub.test"
OID = "3f786850e387550fdab836ed7e6dc881de23001b"
SIGNATURE = {
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N", 4]}],
    "outputs": [{"name": "y", "dtype": "float32", "shape": ["N", 3]}],
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the caches, tokens and settings of whoever runs it."""
    for name in ("URL", "TOKEN", "OFFLINE"):
        monkeypatch.delenv(f"HPCFAIR_{name}", raising=False)
    monkeypatch.setenv("HPCFAIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HPCFAIR_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("HPCFAIR_QUIET", "1")
    return tmp_path


class Unread(httpx.SyncByteStream):
    """A body still to come."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data


class FakeHub(httpx.BaseTransport):
    """Answers what it was told to, keeps blobs, and remembers what it was asked.

    Attributes:
        faults: Answers or errors for the next requests, before anything else.
        asked: All requests, with their bodies read.
    """

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.faults: list[httpx.Response | Exception] = []
        self.asked: list[httpx.Request] = []
        self._routes: dict[tuple[str, str], Any] = {}
        self.on("POST", "/api/v1/blobs/missing", self._missing)

    def on(self, method: str, path: str, reply: Any) -> None:
        """``reply`` is JSON, bytes, a response, or a function of the request giving one."""
        self._routes[method, path] = reply

    def keep(self, data: bytes, path: str) -> dict[str, Any]:
        """Serve ``data`` for download; returns its entry in a list of files."""
        digest = hashlib.sha256(data).hexdigest()
        url = f"/download/{digest}"
        self.on("GET", url, lambda request: served(data, digest, request))
        return {"path": path, "sha256": digest, "size_bytes": len(data), "url": url}

    def calls(self, method: str, path: str) -> list[httpx.Request]:
        """Requests to an address."""
        return [r for r in self.asked if (r.method, r.url.path) == (method, path)]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._answer(request)
        if response.is_stream_consumed:
            # As from a network: not read yet.
            stream = Unread(response.content)
            return httpx.Response(response.status_code, headers=response.headers, stream=stream)
        return response

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return fault
        put = re.fullmatch(r"/api/v1/blobs/([0-9a-f]{64})", request.url.path)
        if put and request.method == "PUT":
            self.blobs[put[1]] = request.content
            return httpx.Response(201, json={})
        key = (request.method, request.url.path)
        if key not in self._routes:
            return problem(404, "page_not_found", f"{key} is not there.")
        reply = self._routes[key]
        reply = reply(request) if callable(reply) else reply
        if isinstance(reply, httpx.Response):
            return reply
        if isinstance(reply, bytes):
            return httpx.Response(200, content=reply)
        return httpx.Response(200, json=reply)

    def _missing(self, request: httpx.Request) -> Any:
        return {"missing": [d for d in body_of(request)["sha256"] if d not in self.blobs]}


def body_of(request: httpx.Request) -> Any:
    """The JSON a request carried."""
    return json.loads(request.content)


def problem(status: int, code: str, detail: str = "No.", hint: str = "") -> httpx.Response:
    """A refusal."""
    return httpx.Response(status, json={"code": code, "detail": detail, "hint": hint})


def served(data: bytes, digest: str, request: httpx.Request) -> httpx.Response:
    """A file, or the rest of one."""
    asked = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
    headers = {"ETag": f'"{digest}"'}
    if not asked:
        return httpx.Response(200, content=data, headers=headers)
    start = int(asked[1])
    headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
    return httpx.Response(206, content=data[start:], headers=headers)


@pytest.fixture
def hub() -> FakeHub:
    return FakeHub()


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(URL, "hpf_secret", tmp_path / "cache")


@pytest.fixture
def http(hub: FakeHub, config: Config) -> Iterator[Transport]:
    """A transport to the fake hub that does not wait between attempts."""
    with Transport(config, transport=hub, retry=Retry(), sleep=lambda _: None) as transport:
        yield transport


@pytest.fixture
def client(hub: FakeHub, config: Config, http: Transport) -> Client:
    made = Client(config=config, transport=hub)
    made.http = http
    return made


@pytest.fixture
def answer() -> Callable[..., httpx.Response]:
    """Makes a refusal: status, code, detail, hint."""
    return problem


@pytest.fixture
def sent() -> Callable[[httpx.Request], Any]:
    """Reads the JSON a request carried."""
    return body_of


def tiny_onnx(scale: float = 0.5) -> bytes:
    """``float32[N,4] -> float32[N,3]``: one matrix product with a constant."""
    weight = np.full((4, 3), scale, np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


@pytest.fixture
def tiny() -> bytes:
    return tiny_onnx()


@pytest.fixture
def build(hub: FakeHub, tiny: bytes) -> dict[str, Any]:
    """A tuned build of the tiny network for this machine, as the hub describes it."""
    return {
        "uuid": "c1d9a1de-7c1f-4a53-9c0c-3b1f5c8c9a10",
        "target": machine.target_slug(machine.describe()),
        "backend": "onnxruntime",
        "candidate": {"backend": "onnxruntime", "options": {"threads": "one"}},
        "runtime": "onnxruntime",
        "runtime_options": {"threads": "one"},
        "entry_point": "model.onnx",
        "tolerance": "exact",
        "is_baseline": False,
        "is_best": True,
        "ratio": 0.61,
        "ratio_low": 0.59,
        "ratio_high": 0.63,
        "verdict": "faster",
        "p50_ns": 840_000,
        "deviation": {"max_absolute": 1.2e-7, "relative_l2": 3.1e-8},
        "accuracy": 0.97,
        "accuracy_reference": 0.98,
        "record_id": "ab" * 32,
        "files": [hub.keep(tiny, "model.onnx")],
    }


@pytest.fixture
def resolution(hub: FakeHub, build: dict[str, Any]) -> dict[str, Any]:
    """The hub's answer that offers the build; change it before loading."""
    document = {
        "revision": OID,
        "build": build,
        "reason": "It is the fastest.",
        "alternatives": [],
        "files": build["files"],
        "entry_point": "model.onnx",
        "signature": SIGNATURE,
        "record_id": build["record_id"],
        "model_file": "model.onnx",
    }
    hub.on("POST", "/api/v1/models/lab/tiny/resolve", lambda _: document)
    return document
