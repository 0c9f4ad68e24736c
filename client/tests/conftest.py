"""A hub that exists only in memory, and a home of its own for every test."""

import base64
import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
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
    for name in ("URL", "TOKEN", "OFFLINE", "SITE_CACHE"):
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
        requests: All requests, with their bodies read.
    """

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.faults: list[httpx.Response | Exception] = []
        self.requests: list[httpx.Request] = []
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
        return [r for r in self.requests if (r.method, r.url.path) == (method, path)]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._answer(request)
        if response.is_stream_consumed:
            # As from a network: not read yet.
            stream = Unread(response.content)
            return httpx.Response(response.status_code, headers=response.headers, stream=stream)
        return response

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
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


@pytest.fixture(autouse=True)
def loggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the client write warnings: quantisers raise the level of the root, and libraries
    that configure logging disable loggers that exist."""
    logging.getLogger().setLevel(logging.WARNING)
    for name in ("hpcfair", "hpcfair.hints"):
        monkeypatch.setattr(logging.getLogger(name), "disabled", False)


@pytest.fixture
def listen() -> Iterator[Callable[[type[BaseHTTPRequestHandler]], str]]:
    """Serves a handler over loopback until the test ends, and returns the address."""
    with ExitStack() as stack:

        def start(handler: type[BaseHTTPRequestHandler]) -> str:
            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}"

        yield start


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
        "deviation": {"max_absolute": 1.2e-7, "max_relative": 6.2e-8, "relative_l2": 3.1e-8},
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


class Key:
    """A key of a hub."""

    def __init__(self, curve: str = "SECP256R1") -> None:
        serialization = import_module("cryptography.hazmat.primitives.serialization")
        ec = import_module("cryptography.hazmat.primitives.asymmetric.ec")
        hashes = import_module("cryptography.hazmat.primitives.hashes")
        self.scheme = ec.ECDSA(hashes.SHA256())
        self.private = ec.generate_private_key(getattr(ec, curve)())
        pem: bytes = self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.pem = pem.decode()
        self.id = hashlib.sha256(pem).hexdigest()


class Keys:
    """The keys of a hub, their list as the hub publishes it, and what they sign."""

    def __init__(self) -> None:
        self.line: list[Key] = [self.make()]
        self.successions: dict[str, Any] = {}
        self.revoked: dict[str, str] = {}
        self.changes = 0

    @property
    def current(self) -> Key:
        return self.line[-1]

    def make(self, curve: str = "SECP256R1") -> Key:
        return Key(curve)

    def sign(
        self, payload: Any, *keys: Key, kind: str = "application/vnd.in-toto+json"
    ) -> dict[str, Any]:
        """A DSSE envelope, by the current key if none is named."""
        data = json.dumps(payload).encode()
        signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(data), data)
        pairs = [(key.id, key.private.sign(signed, key.scheme)) for key in keys or [self.current]]
        return {
            "payloadType": kind,
            "payload": base64.b64encode(data).decode(),
            "signatures": [
                {"keyid": keyid, "sig": base64.b64encode(sig).decode()} for keyid, sig in pairs
            ],
        }

    def statement(self, resolution: dict[str, Any], name: str = "lab/tiny") -> dict[str, Any]:
        """The provenance of the build that the hub offers."""
        build = resolution["build"]
        return {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [
                {"name": file["path"], "digest": {"sha256": file["sha256"]}}
                for file in resolution["files"]
            ],
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": {
                "buildDefinition": {
                    "externalParameters": {
                        "model": name,
                        "revision": resolution["revision"],
                        "target": build["target"],
                        "tolerance": build["tolerance"],
                        "candidate": build["candidate"],
                    },
                    "internalParameters": {
                        "build": build["uuid"],
                        "runtime": build["runtime"],
                        "runtime_options": build["runtime_options"],
                        "entry_point": resolution["entry_point"],
                    },
                },
                "runDetails": {
                    "metadata": {"finishedOn": "2026-01-02T03:04:05+00:00"},
                    "byproducts": [{"digest": {"sha256": resolution["record_id"]}}],
                },
            },
        }

    def succeed(self, payload: Any, *keys: Key) -> dict[str, Any]:
        return self.sign(payload, *keys, kind="application/vnd.hpcfair.key-succession+json")

    def rotate(self, *, named: bool = True) -> Key:
        old, new = self.current, self.make()
        if named:
            payload = {"from": old.id, "to": new.id, "public": new.pem}
            self.successions[new.id] = self.succeed(payload, old, new)
        self.line.append(new)
        self.changes += 1
        return new

    def revoke(self, key: Key) -> None:
        self.revoked[key.id] = "2026-02-03T00:00:00Z"
        self.changes += 1

    def list(self, signer: Key | None = None) -> dict[str, Any]:
        payload = {
            "schema": "hpcfair.keys/1",
            "current": self.current.id,
            "changed_at": f"2026-01-01T00:00:{self.changes:02d}.000000+00:00",
            "keys": [
                {
                    "keyid": key.id,
                    "public": key.pem,
                    "revoked_at": self.revoked.get(key.id),
                    "succession": self.successions.get(key.id),
                }
                for key in self.line
            ],
        }
        return self.sign(payload, signer or self.current, kind="application/vnd.hpcfair.keys+json")


@pytest.fixture
def keys(hub: FakeHub) -> Keys:
    """The keys of the hub, which publishes them."""
    pytest.importorskip("cryptography")
    keys = Keys()
    hub.on("GET", "/.well-known/hpcfair-keys.json", lambda _: keys.list())
    return keys
