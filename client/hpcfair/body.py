"""Reads the body of an HTTP response at full connection speed."""

import time
from collections.abc import Iterator

import httpcore
import httpx

#: The allocator keeps memory of this size for the next block. That of larger ones it returns to the
#: system, and every page of the next block costs a fault.
_BLOCK_BYTES = 2**19
#: A connection that is read directly cannot be reused; a shorter rest is not worth a new one.
_WORTH_BYTES = 4 * 2**20
#: A body that brings fewer bytes than this in so many seconds is given up. Timeouts of connections
#: do not notice a server that sends a byte now and then.
_LEAST_BYTES, _LEAST_S = 60 * 2**10, 60.0


class TooSlow(httpx.ReadTimeout):
    """The server sends, but too slowly to be waited for."""


def blocks(response: httpx.Response) -> Iterator[bytes]:
    """The bytes of a streamed response, in blocks of varying size.

    The rest of a large plain body is read from the connection itself, which returns larger blocks
    and bypasses the parser, by httpx's ``network_stream`` extension:
    https://www.python-httpx.org/advanced/extensions/#network_stream

    Raises:
        TooSlow: the server sends less than a kilobyte a second.
        httpx.RequestError: the connection was lost or went silent.
    """
    parts = _parts(response)
    waited_s, count = 0.0, 0
    while True:
        since = time.monotonic()
        block = next(parts, None)
        # Without the time that the caller takes, who may wait for a disk.
        waited_s += time.monotonic() - since
        if block is None:
            return
        count += len(block)
        if waited_s >= _LEAST_S:
            if count < _LEAST_BYTES:
                message = f"only {count} bytes came in {waited_s:.0f} s"
                raise TooSlow(message, request=response.request)
            waited_s, count = 0.0, 0
        yield block


def _parts(response: httpx.Response) -> Iterator[bytes]:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        yield from response.iter_bytes()
        return
    # DANGER: releasing this iterator closes the connection, so it must outlive the reading.
    parsed = response.iter_raw()
    first = next(parsed, b"")
    yield first
    stream = response.extensions.get("network_stream")
    left = _length(response) - len(first)
    if stream is None or left < _WORTH_BYTES:
        yield from parsed
    else:
        # The parser returns all its buffered bytes at once, so the rest is still in the connection.
        yield from _rest(stream, left, response)
    parsed.close()  # type: ignore[attr-defined]  # a generator


def _length(response: httpx.Response) -> int:
    """Length of the body in bytes; 0 if it is compressed or chunked."""
    framed = response.http_version != "HTTP/1.1" or "Transfer-Encoding" in response.headers
    length = response.headers.get("Content-Length", "")
    return 0 if framed or not length.isdigit() else int(length)


def _rest(stream: httpcore.NetworkStream, left: int, response: httpx.Response) -> Iterator[bytes]:
    timeout_s = response.request.extensions.get("timeout", {}).get("read")
    while left:
        try:
            block = stream.read(min(left, _BLOCK_BYTES), timeout_s)
        except httpcore.TimeoutException as error:
            raise httpx.ReadTimeout(str(error), request=response.request) from error
        except httpcore.NetworkError as error:
            raise httpx.ReadError(str(error), request=response.request) from error
        if not block:
            message = f"the connection was closed with {left} bytes to come"
            raise httpx.RemoteProtocolError(message, request=response.request)
        left -= len(block)
        yield block
