"""Requests to names that the hub does not have: a short refusal, and one line of the log."""

import logging
from typing import Any

import pytest
from django.test import Client

from hub.logs import OneLine

HOSTS = ["evil.example", "a b", "x" * 5000, "[::1", "\t", "a/../b", "é"]
ADDRESSES = ["/", "/api/v1/models", "/lab/galaxy-cnn/resolve/main/x", "/oai", "/api/models"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("host", HOSTS)
def test_the_answer_is_short_and_the_log_has_one_line(
    settings: Any, host: str, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ALLOWED_HOSTS = ["hub.example.org"]
    with caplog.filtering(OneLine()), caplog.at_level(logging.DEBUG):
        answer = Client(raise_request_exception=False).get(address, HTTP_HOST=host)
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "invalid_request"
    assert len(answer.content) < 1000
    lines = [record for record in caplog.records if record.name.startswith("django.security")]
    assert len(lines) == 1
    assert lines[0].exc_info is None
    assert len(lines[0].getMessage()) <= 300
    assert "\n" not in lines[0].getMessage()


def test_the_log_of_the_hub_has_this_filter(settings: Any) -> None:
    assert settings.LOGGING["filters"]["one_line"]["()"] == "hub.logs.OneLine"
    assert "one_line" in settings.LOGGING["handlers"]["stderr"]["filters"]


def test_other_lines_keep_their_traceback() -> None:
    record = logging.LogRecord("hub", logging.ERROR, "", 1, "a %s", ("b",), None)
    record.exc_text = "Traceback"
    assert OneLine().filter(record)
    assert (record.getMessage(), record.exc_text) == ("a b", "Traceback")
