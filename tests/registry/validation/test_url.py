"""Addresses the hub may call."""

import pytest

from registry.errors import Invalid
from registry.validation.url import check_url, is_public


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "https://example.org:8443/hook?token=a%20b",
        "https://[2606:2800:220:1:248:1893:25c8:1946]/",
        "http://8.8.8.8/",
        "HTTPS://Example.ORG/",
    ],
)
def test_an_address_of_the_open_net_is_fine(url: str) -> None:
    assert check_url(url, private=False) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://[::1/",
        "http://me:secret@example.org/",
        "http://@example.org/",
        "http://exam ple.org/",
        "http://example.org/\r\nX-Evil: 1",
        "http://exämple.org/",
        "http://example.org/" + "x" * 2000,
    ],
)
def test_what_is_no_address_or_holds_credentials_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_url(url, private=True)
    assert refused.value.code == "invalid_url"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "10.0.0.1", "169.254.169.254", "[::1]"],
)
def test_the_hubs_own_network_is_only_called_where_it_is_allowed(host: str) -> None:
    with pytest.raises(Invalid):
        check_url(f"http://{host}/", private=False)
    check_url(f"http://{host}/", private=True)


PRIVATE = """
    0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.168.1.1 192.0.2.1
    198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 fe80::1%eth0 fc00::1 ff02::1
    2001:db8::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::808:808
    2002:7f00:1:: 2002:a00:1:: 2001:0:a00:1::
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_private_reserved_and_wrapped_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_are(address: str) -> None:
    assert is_public(address)
