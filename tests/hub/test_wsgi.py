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


@pytest.mark.parametrize(
    ("peer", "hops", "address"),
    [
        ("", "192.0.2.7", "192.0.2.7"),
        # Written by the client, and by a proxy in front.
        ("", "10.0.0.1, 192.0.2.7", "192.0.2.7"),
        ("198.51.100.1", "192.0.2.7", "198.51.100.1"),
        ("", "", ""),
    ],
)
def test_only_the_proxys_socket_tells_a_clients_address(
    db: None, peer: str, hops: str, address: str
) -> None:
    environ = RequestFactory().get("/healthz").environ
    environ |= {"REMOTE_ADDR": peer, "HTTP_X_FORWARDED_FOR": hops, "wsgi.input": BytesIO()}
    assert b"".join(application(environ, lambda *_: None))
    assert environ["REMOTE_ADDR"] == address
