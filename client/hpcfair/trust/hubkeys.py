"""The keys of the hub that may sign: pinned at first use, followed through successions.

The key that a hub shows first is trusted (trust on first use), at login or at the first signed
build. Another one is accepted only if the trusted key named it.
"""

import time
import warnings
from datetime import datetime, timezone
from typing import Any

from hpcfair.config import Config
from hpcfair.errors import HubError, HubUnreachable, NotFound, Unavailable, Untrusted
from hpcfair.transport import Transport
from hpcfair.trust.envelope import can_verify, keyid_of
from hpcfair.trust.keylist import KeyList, changed, follow, read_list
from hpcfair.trust.pins import Pin, read_pin, write_pin

PATH = "/.well-known/hpcfair-keys.json"
#: The list is fetched again after this time, to learn of revocations.
_FRESH_S = 86_400.0


class NewKeyWarning(UserWarning):
    """A hub's key is trusted from now on, because none was trusted before."""


def hub_keys(http: Transport, needed: str = "", *, renew: bool = True) -> KeyList:
    """The keys of the hub, from the last list if it is fresh, names ``needed`` and the hub is not
    needed for it; without ``renew``, it may be of any age.

    Raises:
        Untrusted: the hub's key changed, or was revoked; of a bundle: its keys do not belong to
            the trusted one.
        HubUnreachable: there is no stored list, and the hub does not answer.
    """
    hub = http.config.url
    pin = read_pin(http.config)
    stored = _stored(pin, hub) if pin else None
    if http.config.key_list is not None:
        return _carried(http.config, pin, stored)
    if pin and stored:
        is_fresh = not renew or 0 <= time.time() - pin.checked_at < _FRESH_S
        if is_fresh and (not needed or needed in stored.public or needed in stored.revoked):
            return stored
    try:
        # A member that is missing is a fault of the signature.
        envelope = dict(http.get(PATH) or {})
    except (HubUnreachable, Unavailable):
        if stored is None:
            raise
        return stored
    except HubError as error:
        raise Untrusted(
            f"{hub} signs builds and publishes no keys: {error.detail}",
            "Report this to its operators.",
            code="key_missing",
        ) from error
    return _accept(http.config, pin, stored, envelope)


def trust_at_login(http: Transport) -> bool:
    """Trust the hub's key if none is trusted yet; a hub without keys is left as it is.

    Returns whether signatures can be verified. Raises Untrusted: the hub's key changed.
    """
    if not can_verify():
        return False
    try:
        hub_keys(http)
    except Untrusted as error:
        if not isinstance(error.__cause__, NotFound):
            raise
    return True


def trust(http: Transport, keyid: str) -> KeyList:
    """Trust the hub's current key in place of the one before, if it has the id ``keyid``.

    Raises Untrusted: it has another one.
    """
    hub = http.config.url
    envelope = dict(http.get(PATH) or {})
    keys = read_list(envelope)
    if keys.current != keyid or keyid in keys.revoked:
        raise changed(hub, keyid, keys.current)
    _write(http.config, keys, envelope)
    return keys


def _carried(config: Config, pin: Pin | None, stored: KeyList | None) -> KeyList:
    """The keys for a bundle: the newer of its list and the stored one, which must belong together.

    Without a trusted key, that of the bundle counts, but is not trusted from now on: a file proves
    nothing about a hub.
    """
    keys = read_list(config.key_list)
    if pin is None or stored is None:
        return keys
    if keys.changed_at > stored.changed_at:
        follow(keys, pin.keyid, pin.public, hub=config.url)
        return keys
    # A list names all keys there ever were.
    if keys.current not in stored.public and keys.current not in stored.revoked:
        raise changed(config.url, pin.keyid, keys.current)
    return stored


def _accept(config: Config, pin: Pin | None, stored: KeyList | None, envelope: Any) -> KeyList:
    hub = config.url
    keys = read_list(envelope)
    if keys.current in keys.revoked:
        raise changed(hub, pin.keyid if pin else "", keys.current)
    if pin is None:
        warnings.warn(
            f"The key {keys.current[:16]} of {hub} is trusted from now on.",
            NewKeyWarning,
            stacklevel=2,
        )
    else:
        follow(keys, pin.keyid, pin.public, hub=hub)
        if stored and keys.changed_at < stored.changed_at:
            raise Untrusted(
                f"{hub} sent a list of its keys that is older than the one of "
                f"{stored.changed_at[:19]}.",
                "Somebody may be between you and the hub. Try again from another network.",
                code="key_list_old",
            )
    _write(config, keys, envelope, since=pin.since if pin and pin.keyid == keys.current else "")
    return keys


def _stored(pin: Pin, hub: str) -> KeyList:
    """The stored list, verified again: the file may have been changed."""
    keys = read_list(pin.list)
    if keys.current != pin.keyid or keyid_of(pin.public) != pin.keyid:
        raise changed(hub, pin.keyid, keys.current)
    return keys


def _write(config: Config, keys: KeyList, envelope: Any, *, since: str = "") -> None:
    since = since or datetime.now(timezone.utc).isoformat(timespec="seconds")
    # The list of a bundle may be old; the hub is asked for a newer one when it can be.
    checked_at = time.time() if config.key_list is None else 0.0
    write_pin(config, Pin(keys.current, keys.public[keys.current], since, envelope, checked_at))
