"""Answers the requests of a client from a model bundle, as the hub that it was made from would.

All methods that only read a model therefore work with a bundle, and nothing is sent anywhere.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.modelbundle.selection import resolve
from hpcfair.transport import quoted
from hpcfair.trust.hubkeys import PATH as KEYS

_RANGE = re.compile(r"bytes=(\d+)-")
_Answer = Callable[[httpx.Request, str], httpx.Response]


class BundleTransport(httpx.BaseTransport):
    """The connection to a bundle in place of a hub."""

    def __init__(self, bundle: ModelBundle) -> None:
        self._bundle = bundle
        self._manifest = bundle.manifest
        model = f"/api/v1/models/{quoted(bundle.name)}"
        self._routes: list[tuple[str, re.Pattern[str], _Answer]] = [
            (method, re.compile(pattern), answer)
            for method, pattern, answer in (
                ("GET", re.escape(model), self._model),
                ("GET", rf"{re.escape(model)}/revisions/(.+)", self._commit),
                ("POST", rf"{re.escape(model)}/resolve", self._resolve),
                ("GET", rf"{re.escape(model)}/builds", self._builds),
                ("GET", rf"{re.escape(model)}/tests", self._tests),
                ("GET", r"/api/v1/records/([0-9a-f]{64})", self._record),
                ("GET", r"/api/v1/records/([0-9a-f]{64})/attestation", self._record_attestation),
                ("GET", r"/api/v1/builds/([0-9a-f-]{36})/attestation", self._attestation),
                ("GET", rf"/{re.escape(quoted(bundle.name))}/model\.sig", self._signature),
                ("GET", rf"/{re.escape(quoted(bundle.name))}/metadata/(.+)", self._metadata),
                ("GET", re.escape(KEYS), self._keys),
                ("GET", r"/blobs/([0-9a-f]{64})", self._blob),
            )
        ]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        path = request.url.path
        for method, pattern, answer in self._routes:
            if method == request.method and (match := pattern.fullmatch(path)):
                try:
                    return answer(request, match[1] if match.groups() else "")
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    detail = f"The manifest of {self._bundle.path} is malformed: {error!r}."
                    return _problem(422, "bundle_invalid", detail)
        return self._missing("page_not_found", f"no answer to {request.method} {path}")

    def _model(self, _: httpx.Request, __: str) -> httpx.Response:
        return _json(self._manifest["model"])

    def _commit(self, _: httpx.Request, name: str) -> httpx.Response:
        if not self._is_here(name):
            return self._missing("revision_not_found", f"no revision {name!r}")
        return _json(self._manifest["commit"])

    def _resolve(self, request: httpx.Request, _: str) -> httpx.Response:
        body = json.loads(request.content)
        if body["revision"] is not None and not self._is_here(body["revision"]):
            return self._missing("revision_not_found", f"no revision {body['revision']!r}")
        answer = resolve(self._manifest, body, self._bundle.path.name)
        absent = [file["path"] for file in answer["files"] if not self._carries(file)]
        if absent:
            return _problem(
                404,
                "file_not_found",
                f"{self._bundle.path} was made without {absent[0]}. {answer['reason']}",
                "Make it with the published files, or with builds for this machine's target.",
            )
        return _json(answer)

    def _builds(self, request: httpx.Request, _: str) -> httpx.Response:
        target = request.url.params.get("target")
        items = [build for build in self._manifest["builds"] if target in {None, build["target"]}]
        return _json({"items": items})

    def _tests(self, _: httpx.Request, __: str) -> httpx.Response:
        return _json(self._manifest["tests"])

    def _record(self, _: httpx.Request, digest: str) -> httpx.Response:
        entry = self._manifest["records"].get(digest)
        if entry is None:
            return self._missing("record_not_found", f"no record {digest}")
        return _json(self._bundle.json_of(entry["sha256"]))

    def _record_attestation(self, _: httpx.Request, digest: str) -> httpx.Response:
        entry = self._manifest["records"].get(digest) or {}
        return self._envelope(entry.get("attestation"))

    def _attestation(self, _: httpx.Request, uuid: str) -> httpx.Response:
        builds = {build["uuid"]: build for build in self._manifest["builds"]}
        return self._envelope(builds.get(uuid, {}).get("attestation"))

    def _signature(self, _: httpx.Request, __: str) -> httpx.Response:
        return self._envelope(self._manifest["signature"])

    def _keys(self, _: httpx.Request, __: str) -> httpx.Response:
        return self._envelope(self._manifest["keys"])

    def _envelope(self, envelope: Any) -> httpx.Response:
        if envelope is None:
            return self._missing("attestation_not_found", "no such signature")
        return _json(envelope)

    def _metadata(self, _: httpx.Request, name: str) -> httpx.Response:
        for document in self._manifest["metadata"]:
            if document["format"] == name:
                content = self._bundle.content_of(document["sha256"])
                return _plain(200, content, {"Content-Type": document["media_type"]})
        return self._missing("page_not_found", f"no metadata record {name!r}")

    def _blob(self, request: httpx.Request, digest: str) -> httpx.Response:
        size = self._bundle.blobs.get(digest)
        if size is None:
            return self._missing("blob_not_found", f"no file {digest}")
        headers = {"ETag": f'"{digest}"'}
        part = _RANGE.match(request.headers.get("Range", ""))
        start = int(part[1]) if part else 0
        if part:
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        stream = _Pieces(self._bundle.pieces_of(digest, start))
        return httpx.Response(206 if part else 200, headers=headers, stream=stream)

    def _carries(self, file: dict[str, Any]) -> bool:
        return file["sha256"] in self._bundle.blobs

    def _is_here(self, name: str) -> bool:
        """Whether a branch, tag or commit id names the revision of the bundle."""
        refs = self._manifest["model"].get("refs") or ()
        named = {ref["name"] for ref in refs if ref["revision"] == self._bundle.revision}
        return name == self._bundle.revision or name in named

    def _missing(self, code: str, what: str) -> httpx.Response:
        detail = f"{self._bundle.path} has {what}."
        return _problem(404, code, detail, f"The hub at {self._bundle.hub} may have it.")


class _Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces


def _json(value: Any) -> httpx.Response:
    return _plain(200, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _problem(status: int, code: str, detail: str, hint: str = "") -> httpx.Response:
    body = {"code": code, "detail": detail, "hint": hint}
    return _plain(status, json.dumps(body).encode(), {"Content-Type": "application/problem+json"})


def _plain(status: int, content: bytes, headers: dict[str, str]) -> httpx.Response:
    return httpx.Response(status, headers=headers, stream=_Pieces(iter((content,))))
