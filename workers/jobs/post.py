"""One POST request to a URL chosen by a user, limited in destination and time. Uses the standard
library only, to control which socket is opened."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from registry.errors import Invalid
from registry.validation.url import check_url, is_public

#: Upper bound on addresses of a host that are tried.
_MOST_ADDRESSES = 3


class NotSent(Exception):
    """There was no response; the text says why."""


class PrivateAddress(NotSent):
    """The host is one of this machine or of a private network."""


def post(
    url: str, *, body: bytes, headers: Mapping[str, str], timeout_s: float, private: bool
) -> int:
    """Send a POST request and return the HTTP status of the response.

    The host name is resolved once and the connection goes to a checked address, so that both are
    the same. Redirects and proxies are not followed, and the response's body is not read.

    Args:
        timeout_s: Limit of everything but the name resolution.
        private: Whether private addresses are allowed.

    Raises:
        NotSent: the address is not allowed or does not respond.
    """
    try:
        parts = urlsplit(check_url(url, private=private))
    except Invalid as refusal:
        raise NotSent(refusal.detail) from None
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = resolve(host, port, private=private)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    # Only determines the Host header; the socket is opened below.
    connection = kind(host, parts.port, timeout=timeout_s)
    try:
        with _connected(addresses, timeout_s) as plain:
            secure = parts.scheme == "https"
            connection.sock = _secured(plain, host) if secure else plain
            connection.request("POST", path, body, {**headers, "Connection": "close"})
            with connection.getresponse() as response:
                return response.status
    except ssl.SSLCertVerificationError as error:
        raise NotSent(f"{host} has no valid certificate: {error.verify_message}.") from None
    except TimeoutError:
        raise NotSent(f"{host} did not answer within {timeout_s:g} s.") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotSent(f"{host} did not answer: {_words(error)}.") from None
    finally:
        connection.close()


def resolve(host: str, port: int, *, private: bool) -> list[tuple[str, int]]:
    """Up to three addresses of a host, to be connected to in place of its name.

    Raises ``PrivateAddress`` unless private ones are allowed; ``NotSent`` if there is none.
    """
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotSent(f"There is no host {host[:100]!r}.") from None
    addresses = [(str(row[4][0]), port) for row in rows]
    # Also rejects names with both public and private addresses.
    if not private and not all(is_public(address) for address, _ in addresses):
        raise PrivateAddress(f"{host[:100]} is an address of a private network.")
    return addresses[:_MOST_ADDRESSES]


@contextmanager
def _connected(addresses: list[tuple[str, int]], timeout_s: float) -> Iterator[socket.socket]:
    """A connection to the first address that accepts one, closed after ``timeout_s`` in total."""
    deadline = time.monotonic() + timeout_s
    connection = _connect(addresses, timeout_s)
    # TLS takes over the socket; shutting down a duplicate closes the same connection.
    handle = connection.dup()
    ended = threading.Event()

    def cut() -> None:
        ended.set()
        with suppress(OSError):
            handle.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0, deadline - time.monotonic()), cut)
    timer.start()
    try:
        yield connection
    except (OSError, http.client.HTTPException):
        if ended.is_set():
            raise TimeoutError from None
        raise
    finally:
        timer.cancel()
        timer.join()
        handle.close()
        connection.close()


def _connect(addresses: list[tuple[str, int]], timeout_s: float) -> socket.socket:
    failure: OSError = OSError("it has no address")
    for address in addresses:
        try:
            return socket.create_connection(address, timeout=timeout_s / len(addresses))
        except OSError as error:
            failure = error
    raise failure


def _secured(plain: socket.socket, host: str) -> ssl.SSLSocket:
    return ssl.create_default_context().wrap_socket(plain, server_hostname=host)


def _words(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:200]
