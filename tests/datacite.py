"""A stand-in for DataCite: its REST API and doi.org, as their documentation has them.

Written from https://support.datacite.org/docs/api-create-dois, .../doi-states, .../api-error-codes
and .../rate-limit. Nothing here ever talked to DataCite itself.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

ACCOUNT, PASSWORD, PREFIX = "EXAMPLE.HUB", "quite secret", "10.82433"
#: Of other accounts.
TAKEN = "10.5438"
#: What a DOI must have before anybody can find it.
REQUIRED = ("url", "creators", "titles", "publisher", "publicationYear", "types")
#: Event to the state it leads to, and the states it leads from.
EVENTS = {
    "publish": ("findable", {"draft", "registered", "findable"}),
    "register": ("registered", {"draft"}),
    "hide": ("registered", {"findable"}),
}


@dataclass
class DataCite:
    """What was registered.

    Attributes:
        dois: DOI to its attributes, ``state`` among them.
        asked: Method and path of every request.
        faults: Statuses with headers, one for each of the next requests.
    """

    port: int = 0
    dois: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    faults: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address of the API, and of the resolver."""
        return f"http://127.0.0.1:{self.port}"

    def settings(self) -> dict[str, str]:
        """What an operator sets."""
        return {
            "DATACITE_URL": self.url,
            "DATACITE_ACCOUNT": ACCOUNT,
            "DATACITE_PASSWORD": PASSWORD,
            "DATACITE_PREFIX": PREFIX,
        }

    def put(self, doi: str, document: Any) -> tuple[int, Any]:
        """Make or change a DOI; status and answer."""
        try:
            attributes = dict(document["data"]["attributes"])
        except (KeyError, TypeError):
            return 400, _errors(status="400", title="Bad Request")
        if not doi.startswith(f"{PREFIX}/"):
            title = "You are not authorized to access this resource."
            return 403, _errors(status="403", title=title)
        event = attributes.pop("event", None)
        before = self.dois.get(doi, {"state": "draft"})
        after = before | attributes
        if event is not None:
            state, sources = EVENTS.get(event, ("", set()))
            if before["state"] in sources:
                after["state"] = state
        faults = [] if after["state"] == "draft" else _faults(doi, after)
        if faults:
            return 422, {"errors": faults}
        is_new = doi not in self.dois
        self.dois[doi] = after
        return 201 if is_new else 200, {"data": {"id": doi, "type": "dois", "attributes": after}}


def _faults(doi: str, attributes: dict[str, Any]) -> list[dict[str, str]]:
    faults = [
        {"source": name, "uid": doi, "title": "can't be blank"}
        for name in REQUIRED
        if not attributes.get(name)
    ]
    if (attributes.get("types") or {}).get("resourceTypeGeneral") not in {"Model", "Dataset"}:
        faults.append({"source": "metadata", "uid": doi, "title": "Is invalid"})
    return faults


def _errors(**error: str) -> dict[str, Any]:
    return {"errors": [error]}


_CREDENTIALS = base64.b64encode(f"{ACCOUNT}:{PASSWORD}".encode()).decode()


class _Server(ThreadingHTTPServer):
    def __init__(self, kept: DataCite) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kept = kept


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_PUT(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self._noted():
            return
        if self.headers["Authorization"] != f"Basic {_CREDENTIALS}":
            self._say(401, _errors(status="401", title="Bad credentials."))
        elif self.headers["Content-Type"] != "application/vnd.api+json":
            self._say(415, _errors(status="415", title="Unsupported Media Type"))
        else:
            self._say(*self.server.kept.put(unquote(self.path).removeprefix("/dois/"), document))

    def do_GET(self) -> None:
        """As doi.org: to where a DOI leads."""
        if self._noted():
            return
        found = self.server.kept.dois.get(unquote(self.path)[1:].lower(), {"state": "draft"})
        if found["state"] == "draft":
            self._say(404, {"responseCode": 100})
        else:
            self._say(302, None, {"Location": found["url"]})

    def _noted(self) -> bool:
        """Note the request; whether a fault was its answer."""
        kept = self.server.kept
        kept.asked.append((self.command, unquote(self.path)))
        if not kept.faults:
            return False
        status, headers = kept.faults.pop(0)
        self._say(status, None, headers)
        return True

    def _say(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/vnd.api+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def datacite() -> Iterator[DataCite]:
    """A server of it on a port of its own."""
    kept = DataCite()
    server = _Server(kept)
    kept.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
