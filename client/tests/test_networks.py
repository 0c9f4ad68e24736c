"""Networks of institutions: an own certificate authority, a proxy for all requests."""

import datetime
import http.server
import ipaddress
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from hpcfair.client import Client
from hpcfair.config import Config
from hpcfair.errors import BadConfig, HubUnreachable
from hpcfair.retry import Retry
from hpcfair.transport import Transport

TOKEN = "hpf_secret_of_alice"
WHO = "/api/v1/whoami"


def certificates(folder: Path) -> tuple[Path, Path]:
    """Files of an authority, and of a server's key and certificate for 127.0.0.1 by it."""
    pytest.importorskip("cryptography")
    x509 = import_module("cryptography.x509")
    ec = import_module("cryptography.hazmat.primitives.asymmetric.ec")
    hashes = import_module("cryptography.hazmat.primitives.hashes")
    serialization = import_module("cryptography.hazmat.primitives.serialization")
    now = datetime.datetime.now(datetime.timezone.utc)

    def issue(name: str, key: Any, issuer: str, signer: Any, extensions: list[Any]) -> Any:
        names = [
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, each)])
            for each in (name, issuer)
        ]
        builder = (
            x509.CertificateBuilder(names[1], names[0], key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
        )
        for extension, is_critical in extensions:
            builder = builder.add_extension(extension, is_critical)
        return builder.sign(signer, hashes.SHA256())

    pem = serialization.Encoding.PEM
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_id = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    is_authority = x509.BasicConstraints(ca=True, path_length=None)
    usage = x509.KeyUsage(*(name == "key_cert_sign" for name in _USAGES))
    authority = issue(
        "Institute CA",
        authority_key,
        "Institute CA",
        authority_key,
        [(is_authority, True), (authority_id, False), (usage, True)],
    )
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    server = issue(
        "hub",
        server_key,
        "Institute CA",
        authority_key,
        [
            (x509.SubjectAlternativeName([address]), False),
            (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_id), False),
        ],
    )
    bundle, chain = folder / "authority.pem", folder / "server.pem"
    bundle.write_bytes(authority.public_bytes(pem))
    private = server_key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    chain.write_bytes(private + server.public_bytes(pem))
    return bundle, chain


_USAGES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
    *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)


class Hub(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # the name http.server wants
        body = b'{"name": "alice"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Proxy(socketserver.BaseRequestHandler):
    """Connects and passes bytes on; remembers where to, and all that it could read."""

    targets: list[str]

    def handle(self) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.request.recv(65536)
        self.targets.append(head.decode())
        host, _, port = head.split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as onward:
            self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(onward, self.request))
            back.start()
            _pass_on(self.request, onward)
            back.join()


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while block := source.recv(65536):
            sink.sendall(block)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests of the hub, in the same process, use one context for all clients.
    monkeypatch.setattr("httpx._transports.default.create_ssl_context", httpx.create_ssl_context)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("no_proxy", "all_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def secure(authority: tuple[Path, Path], config: Config) -> Iterator[Config]:
    """Settings for a hub whose certificate only the institute's authority confirms."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority[1])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a refused certificate
    with serving(server):
        yield replace(config, url=f"https://127.0.0.1:{server.server_port}", token=TOKEN)


def who(config: Config) -> Any:
    with Transport(config, retry=Retry(attempts=1)) as transport:
        return transport.get(WHO)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_an_authority_of_the_institute_is_trusted_where_a_variable_names_it(
    secure: Config, authority: tuple[Path, Path], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(HubUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        who(secure)

    monkeypatch.setenv(variable, str(authority[0]))

    assert who(secure) == {"name": "alice"}


def test_a_bundle_that_is_not_there_is_told(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "absent.pem"))

    with pytest.raises(BadConfig, match="REQUESTS_CA_BUNDLE"):
        Client(config=config)


def test_requests_go_through_the_proxy_which_reads_nothing(
    secure: Config, authority: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    Proxy.targets = []
    proxy = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority[0]))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.server_address[1]}")

    with serving(proxy):
        assert who(secure) == {"name": "alice"}

    (target,) = Proxy.targets
    assert target.startswith(f"CONNECT {secure.url.removeprefix('https://')} ")
    assert TOKEN not in target
