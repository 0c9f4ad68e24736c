"""Requests to addresses that strangers chose."""

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import needs, path_of
from tests.receiver import Receiver, receiving
from workers.jobs.post import NotSent, post


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def send(url: str, *, private: bool = True, timeout_s: float = 5) -> int:
    return post(url, body=b"{}", headers={"X-A": "1"}, timeout_s=timeout_s, private=private)


def listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


def test_the_body_and_the_headers_arrive(receiver: Receiver) -> None:
    assert send(f"http://localhost:{receiver.port}/a/b?c=d%20e&f") == 200
    ((path, headers, body),) = receiver.requests
    assert (path, headers["X-A"], body) == ("/a/b?c=d%20e&f", "1", b"{}")
    assert headers["Host"] == f"localhost:{receiver.port}"
    assert headers["Content-Length"] == "2"


@pytest.mark.parametrize("status", [204, 302, 307, 404, 500])
def test_any_status_is_an_answer_and_no_redirect_is_followed(
    receiver: Receiver, status: int
) -> None:
    receiver.answers = [status]
    assert send(receiver.url) == status
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "[::1]"],  # noqa: S104
)
def test_what_only_the_hub_can_reach_is_not_called(receiver: Receiver, host: str) -> None:
    with pytest.raises(NotSent, match=r"own machine|private network|no host"):
        send(f"http://{host}:{receiver.port}/", private=False)
    assert receiver.requests == []


def test_a_name_that_leads_into_the_private_network_is_not_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        addresses = ["93.184.216.34", "127.0.0.1"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

    monkeypatch.setattr("workers.jobs.post.socket.getaddrinfo", resolve)
    with pytest.raises(NotSent, match="private network"):
        send(f"http://rebound.example:{receiver.port}/", private=False)
    assert asked == ["rebound.example"]


def test_a_name_is_resolved_once_and_what_was_checked_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = socket.getaddrinfo, []

    def resolve(host: str, *rest: object, **options: object) -> object:
        if host == "once.example":
            asked.append(host)
            host = "127.0.0.1"
        return real(host, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert send(f"http://once.example:{receiver.port}/") == 200
    assert asked == ["once.example"]
    assert receiver.requests[0][1]["Host"] == f"once.example:{receiver.port}"


def test_nobody_there_is_said(receiver: Receiver) -> None:
    # Bound and not listening: the port refuses, and nobody else can open it meanwhile.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(NotSent, match="did not answer"):
            send(f"http://127.0.0.1:{closed.getsockname()[1]}/")
    with pytest.raises(NotSent, match="no host"):
        send("http://nobody.invalid/")
    with pytest.raises(NotSent, match="http://"):
        send("gopher://127.0.0.1/")


def test_silence_and_drops_of_bytes_end_with_the_time() -> None:
    stop = threading.Event()
    with listener() as quiet, listener() as dripping:

        def drip() -> None:
            connection, _ = dripping.accept()
            with connection:
                while not stop.wait(0.05):
                    try:
                        connection.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        for port in (quiet.getsockname()[1], dripping.getsockname()[1]):
            started = time.monotonic()
            with pytest.raises(NotSent, match="within"):
                send(f"http://127.0.0.1:{port}/", timeout_s=0.4)
            assert time.monotonic() - started < 30
        stop.set()
        thread.join()


def test_what_speaks_no_http_is_said() -> None:
    with listener() as odd:

        def babble() -> None:
            connection, _ = odd.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"220 smtp ready\r\n\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        with pytest.raises(NotSent, match="did not answer"):
            send(f"http://127.0.0.1:{odd.getsockname()[1]}/")
        thread.join()


@needs("openssl")
def test_a_certificate_must_be_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "both.pem"
    subprocess.run(
        [path_of("openssl"), "req", "-x509", "-newkey", "ec",
         "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", file,
         "-out", tmp_path / "cert.pem", "-days", "2", "-subj", "/CN=hook",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    certificate = (tmp_path / "cert.pem").read_text()
    file.write_text(file.read_text() + certificate)
    with receiving(certificate=str(file)) as receiver:
        with pytest.raises(NotSent, match="no valid certificate"):
            send(receiver.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert send(receiver.url) == 200
        with pytest.raises(NotSent, match="no valid certificate"):
            send(receiver.url.replace("127.0.0.1", "localhost"))
    assert len(receiver.requests) == 1
