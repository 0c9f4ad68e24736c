"""A small client of the API over Django's test client: real URLs, middleware, auth, errors.

It holds every answer against the committed OpenAPI document.
"""

import io
import json
from typing import Any

from django.http.response import HttpResponseBase
from django.test import Client

from registry.states import Scope
from registry.tables import User
from tests.factories import make_token
from tests.hub.api.conformance import check_answer


class Answer:
    """What came back.

    Attributes:
        json: The parsed body, where there is JSON.
        content: The body's bytes.
    """

    def __init__(self, response: HttpResponseBase) -> None:
        self.status = response.status_code
        self.headers = response.headers
        chunks = response if response.streaming else [response.content]  # type: ignore[attr-defined]
        self.content = b"".join(chunks)
        is_json = "json" in self.headers.get("Content-Type", "")
        self.json: Any = json.loads(self.content) if is_json and self.content else None

    @property
    def code(self) -> str:
        """The problem's code; fails where the answer is no problem."""
        assert self.headers["Content-Type"] == "application/problem+json", self.content
        assert self.json["status"] == self.status
        return str(self.json["code"])

    def ok(self, status: int = 200) -> Any:
        """The body of an answer that must have this status."""
        assert self.status == status, (self.status, self.content)
        return self.json


class Api:
    """Requests below ``/api/v1``, with the token of ``user`` if there is one."""

    def __init__(
        self, user: User | None = None, scope: Scope = Scope.WRITE, *, secret: str | None = None
    ) -> None:
        self._client = Client()
        token = secret or (make_token(user, scope) if user else None)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def send(
        self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str
    ) -> Answer:
        """``body`` goes as JSON, ``raw`` as it is; ``If_Range=...`` becomes a header."""
        data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        content_type = "application/octet-stream" if raw is not None else "application/json"
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        content_type = given.pop("Content-Type", content_type)
        address = path if path.startswith("/") else f"/api/v1/{path}"
        if raw is not None:
            given.setdefault("Content-Length", str(len(raw)))
        sent = {**self._headers, **given}
        # Django's own fake body cannot break off early, as a real one can.
        stream = {"wsgi.input": io.BytesIO(data)}
        answer = Answer(
            self._client.generic(method, address, data, content_type, headers=sent, **stream)
        )
        content_type = answer.headers.get("Content-Type", "")
        check_answer(method, address, answer.status, content_type, answer.json)
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.send("POST", path, body, **headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.send("PUT", path, body, **headers)

    def patch(self, path: str, body: Any = None) -> Answer:
        return self.send("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        return self.send("DELETE", path)

    def upload(self, data: bytes, sha256: str) -> Answer:
        """Send bytes under a digest, right or wrong."""
        return self.send("PUT", f"blobs/{sha256}", raw=data)

    def all(self, path: str, limit: int) -> list[Any]:
        """All items of a list, read page by page."""
        items: list[Any] = []
        cursor = ""
        while True:
            joint = "&" if "?" in path else "?"
            page = self.get(f"{path}{joint}limit={limit}&cursor={cursor}").ok()
            assert len(page["items"]) <= limit
            items += page["items"]
            cursor = page["next"]
            if not cursor:
                return items
