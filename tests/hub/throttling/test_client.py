"""Who a request counts for."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from hub.throttling.client import network_of, sender_of
from registry.tables import User
from tests.factories import make_token


def request_of(address: str = "203.0.113.7", **headers: str) -> Any:
    request = RequestFactory().get(
        "/", headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    request.META["REMOTE_ADDR"] = address
    request.user = AnonymousUser()
    return request


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unix:", ""),
        ("999.1.1.1", ""),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address: str, network: str) -> None:
    assert network_of(request_of(address)) == network


def test_what_the_client_says_of_its_address_is_believed_from_the_proxy_only(settings: Any) -> None:
    stated = "198.51.100.1, 198.51.100.2, 203.0.113.9"
    request = request_of("192.0.2.1", X_Forwarded_For=stated)
    settings.BEHIND_PROXY = False
    assert network_of(request) == "192.0.2.1"
    settings.BEHIND_PROXY = True
    assert network_of(request) == "203.0.113.9", "what the nearest proxy appended"
    assert network_of(request_of("192.0.2.1")) == "192.0.2.1"


@pytest.mark.django_db
def test_all_tokens_of_an_account_count_together(alice: User, bob: User) -> None:
    keys = {
        sender_of(request_of(address, Authorization=f"Bearer {make_token(alice)}")).key
        for address in ("203.0.113.7", "203.0.113.8")
    }
    assert keys == {f"user-{alice.pk}"}
    other = sender_of(request_of(Authorization=f"Bearer {make_token(bob)}"))
    assert (other.key, other.has_account) == (f"user-{bob.pk}", True)


@pytest.mark.django_db
@pytest.mark.parametrize("credential", ["Bearer hpf_invented", "Bearer", "Basic !", "Digest x"])
def test_an_invented_token_is_no_quota_of_its_own(credential: str) -> None:
    sender = sender_of(request_of(Authorization=credential))
    assert (sender.key, sender.has_account) == ("net-203.0.113.7", False)


@pytest.mark.django_db
def test_an_account_is_ignored_where_it_proves_nothing(alice: User) -> None:
    request = request_of(Authorization=f"Bearer {make_token(alice)}")
    assert sender_of(request, by_address=True).key == "net-203.0.113.7"


def test_an_unknown_address_has_no_key() -> None:
    assert sender_of(request_of("")).key == ""
