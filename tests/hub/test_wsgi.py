"""The application that a server runs."""

from io import BytesIO

import pytest
from django.test import RequestFactory

from hub.wsgi import application


@pytest.mark.parametrize("charset", ["hex", "ascii", "utf-16", "nonsense", "UTF-8"])
def test_a_charset_in_a_request_changes_nothing(db: None, charset: str) -> None:
    environ = RequestFactory().get("/healthz?q=%C3%A9").environ
    environ |= {"CONTENT_TYPE": f"text/plain; charset={charset}", "wsgi.input": BytesIO()}
    statuses: list[str] = []
    response = application(environ, lambda status, _headers: statuses.append(status))
    assert b"".join(response)
    assert statuses == ["200 OK"]
