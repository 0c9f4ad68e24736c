"""Webhooks cannot reach the hub's own network, however its addresses are written or answered."""

import socket
import threading
from collections.abc import Iterator

import pytest

from registry.errors import Invalid
from registry.validation.url import check_url
from tests.receiver import Receiver, receiving
from workers.jobs.post import NotSent, post

#: What a resolver may answer for a stranger's name. None of it is public.
PRIVATE = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255",  # noqa: S104
    "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "192.0.0.170", "192.88.99.1",
    "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1",
    "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::1", "fc00::1", "fd00::1",
    "fe80::1", "fe80::1%lo", "fec0::1", "feff::1", "3fff::1", "5f00::1", "ff02::1", "ff0e::1",
    "2001:0:7f00:1::1", "2001:0:4136:e378:8000:63bf:f5ff:fffe",
]  # fmt: skip
#: Hosts of addresses, as a user may write them; port and path follow.
WRITTEN = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
    "0177.1", "017700000001", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.",  # noqa: S104
    "a.localhost", "127.0.0.1.", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[::1%25lo]",
    "127.0.0.1%2f", "127.0.0.1%00", "example.org@127.0.0.1", "127.0.0.1#@example.org",
    "127.0.0.1\\@example.org", "example.org:80@127.0.0.1",
]  # fmt: skip


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as received:
        yield received


def send(url: str) -> int:
    return post(url, body=b"{}", headers={}, timeout_s=2, private=False)


@pytest.mark.parametrize("host", WRITTEN)
def test_odd_forms_of_private_addresses_are_refused(receiver: Receiver, host: str) -> None:
    url = f"http://{host}:{receiver.port}/"
    with pytest.raises(NotSent):
        send(url)
    assert receiver.requests == []


@pytest.mark.parametrize("beside", ["", "93.184.216.34"])
@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_leads_to_a_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str, beside: str
) -> None:
    """Alone, and beside a public address that is checked first."""
    answers = [beside, address] if beside else [address]

    def resolve(_: str, port: int, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in answers]

    def connect(*_: object, **__: object) -> socket.socket:
        pytest.fail("a connection was opened")

    monkeypatch.setattr("workers.jobs.post.socket.getaddrinfo", resolve)
    monkeypatch.setattr("workers.jobs.post.socket.create_connection", connect)
    with pytest.raises(NotSent, match="private network"):
        send("http://stranger.example/")


def test_a_name_that_answers_otherwise_the_second_time_is_called_at_the_checked_address(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: public at first, the hub's own machine ever after."""
    names, called = [], []

    def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        names.append(host)
        address = "93.184.216.34" if len(names) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(address: tuple[str, int], **_: object) -> socket.socket:
        called.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("workers.jobs.post.socket.getaddrinfo", resolve)
    monkeypatch.setattr("workers.jobs.post.socket.create_connection", connect)
    for scheme in ("http", "https"):
        names.clear()
        called.clear()
        with pytest.raises(NotSent):
            send(f"{scheme}://rebound.example:{receiver.port}/")
        assert names == ["rebound.example"]
        assert called == [("93.184.216.34", receiver.port)]
    assert receiver.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/", "//[::1]:{port}/", "/again"])
def test_a_redirect_to_a_private_address_is_not_followed(
    receiver: Receiver, status: int, target: str
) -> None:
    location = target.format(port=receiver.port)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def redirect() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\n"
                connection.sendall(f"{head}Content-Length: 0\r\n\r\n".encode())

        thread = threading.Thread(target=redirect)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert post(url, body=b"{}", headers={}, timeout_s=5, private=True) == status
        thread.join()
    assert receiver.requests == []


def test_control_characters_add_no_header_and_no_request() -> None:
    for part in ("\r\nHost: x", "%0d%0a\n", "\0", "\t", " ", "\u2028", "\u3002"):
        with pytest.raises(Invalid):
            check_url(f"http://example.org/{part}", private=False)
        with pytest.raises(Invalid):
            check_url(f"http://example{part}.org/", private=False)
