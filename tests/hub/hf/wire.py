"""Requests that no client would make."""

import json
from typing import Any

import pytest
from huggingface_hub import get_session
from huggingface_hub.errors import HfHubHTTPError

from registry.tables import User
from tests.factories import make_token


def status_of(error: pytest.ExceptionInfo[HfHubHTTPError]) -> int:
    """The HTTP status behind an exception of the client."""
    return error.value.response.status_code


def send(hub_url: str, user: User | None, path: str, body: Any = None, method: str = "POST") -> Any:
    """The answer to ``body`` as JSON; ``path`` begins at the hub's top."""
    headers = {"Authorization": f"Bearer {make_token(user)}"} if user else {}
    return get_session().request(method, f"{hub_url}/{path}", json=body, headers=headers)


def send_lines(hub_url: str, user: User, path: str, lines: list[Any]) -> Any:
    """The answer to ``lines``, one JSON document each."""
    headers = {
        "Authorization": f"Bearer {make_token(user)}",
        "Content-Type": "application/x-ndjson",
    }
    body = "\n".join(json.dumps(line) for line in lines).encode()
    return get_session().post(f"{hub_url}/{path}", content=body, headers=headers)
