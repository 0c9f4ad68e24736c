"""One POST to an address a stranger chose.

Standard library only: what matters is which socket is opened, and that nothing it does costs us
more than the time given.
"""

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

#: Addresses of one name that are tried.
_MOST_ADDRESSES = 3


class NotSent(Exception):
    """No answer came; the text says why."""


def post(
    url: str, *, body: bytes, headers: Mapping[str, str], timeout_s: float, private: bool
) -> int:
    """The HTTP status that the address answers with.

    The name is resolved once and the connection made to what was found then, so that it cannot
    mean one host when it is checked and another when it is called. Redirects are not followed,
    proxies not asked, and what comes after the answer's head is not read.

    Args:
        timeout_s: For everything but the resolver, which has its own limits.
        private: Whether addresses that not everybody can reach are fine.

    Raises:
        NotSent: the address is refused or does not answer.
    """
    try:
        parts = urlsplit(check_url(url, private=private))
    except Invalid as refusal:
        raise NotSent(refusal.detail) from None
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = _resolve(host, port, private=private)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    # Only says how to spell the Host header; the socket is ours.
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


def _resolve(host: str, port: int, *, private: bool) -> list[tuple[str, int]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotSent(f"There is no host {host[:100]!r}.") from None
    addresses = [(str(row[4][0]), port) for row in found]
    # One that leads to both kinds is out to deceive.
    if not private and not all(is_public(address) for address, _ in addresses):
        raise NotSent(f"{host[:100]} is an address of a private network.")
    return addresses[:_MOST_ADDRESSES]


@contextmanager
def _connected(addresses: list[tuple[str, int]], timeout_s: float) -> Iterator[socket.socket]:
    """A connection to the first address that takes one, cut when the time is over.

    A socket's own timeout begins anew with every byte, so a patient host could hold us for ever.
    """
    deadline = time.monotonic() + timeout_s
    connection = _connect(addresses, timeout_s)
    # TLS takes the socket over; a duplicate still cuts the same connection.
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
