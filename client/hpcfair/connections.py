"""Connections to hubs, by the network settings of the environment."""

import os
import platform
import ssl
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx

from hpcfair.errors import BadConfig, HubUnreachable, MissingPackage

_TIMEOUT = httpx.Timeout(60.0, connect=10.0)


def user_agent() -> str:
    """Name and version of this client and of Python."""
    try:
        ours = version("hpcfair")
    except PackageNotFoundError:  # run from a source tree that is not installed
        ours = "0"
    return f"hpcfair/{ours} python/{platform.python_version()} {platform.system().lower()}"


def open_connections(transport: httpx.BaseTransport | None) -> httpx.Client:
    """A pool of connections, which the caller closes.

    Raises:
        BadConfig: a proxy or the certificates that the environment names cannot be used.
        MissingPackage: a proxy of the environment needs a package.
    """
    try:
        return httpx.Client(
            transport=transport,
            verify=_certificates(),
            timeout=_TIMEOUT,
            follow_redirects=True,
            headers={"User-Agent": user_agent()},
        )
    except ImportError as error:
        raise MissingPackage(
            f"The proxy of this environment needs a package: {error}.",
            "Install it with: pip install 'httpx[socks]'",
        ) from error
    except (OSError, ValueError, httpx.InvalidURL) as error:
        raise BadConfig(
            f"The network settings of this environment cannot be used: {error}.",
            "Correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE, SSL_CERT_DIR or "
            "REQUESTS_CA_BUNDLE.",
        ) from error


def _certificates() -> ssl.SSLContext | bool:
    """The authorities that REQUESTS_CA_BUNDLE names, which other clients of institutes read, unless
    a variable of OpenSSL names some."""
    bundle = os.environ.get("REQUESTS_CA_BUNDLE")
    if not bundle or os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return True
    is_folder = Path(bundle).is_dir()
    return ssl.create_default_context(
        cafile=None if is_folder else bundle, capath=bundle if is_folder else None
    )


def address_at(hub: str, path: str) -> str:
    """The address of ``path`` on a hub; ``path`` may itself be an address. Raises HubUnreachable if
    it cannot be used."""
    try:
        address = urljoin(f"{hub}/", path.lstrip("/") if "://" not in path else path)
        # Raises ValueError if it is not a number from 0 to 65535.
        _ = urlsplit(address).port
        httpx.URL(address)
    except (ValueError, httpx.InvalidURL) as error:
        raise HubUnreachable(
            f"The hub named an address that cannot be used: {error}.",
            "Report this to the hub's operators.",
            code="answer_invalid",
        ) from error
    return address
