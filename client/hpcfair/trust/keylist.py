"""The signed list of a hub's keys, and whether it follows from the key that is trusted already.

A list is signed by the hub's current key. A client that trusts another key follows the successions
in the list: envelopes in which a key names the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hpcfair.errors import Untrusted
from hpcfair.trust.envelope import invalid, keyid_of, open_envelope, unverified

_LIST = "application/vnd.hpcfair.keys+json"
_SUCCESSION = "application/vnd.hpcfair.key-succession+json"


@dataclass(frozen=True, slots=True)
class KeyList:
    """A list whose signature was verified.

    Attributes:
        current: Id of the key that signs now.
        changed_at: Time of the last change, in ISO 8601, UTC.
        public: Id to public key in PEM, of keys that were not revoked.
        revoked: Id to the time of the revocation.
        successions: Id of a key to the envelope in which the one before names it.
    """

    current: str
    changed_at: str
    public: Mapping[str, str]
    revoked: Mapping[str, str]
    successions: Mapping[str, Any]


def read_list(envelope: Any) -> KeyList:
    """The list in an envelope, which its own current key must have signed. Whether that key is
    trusted is decided by :func:`follow`. Raises Untrusted, MissingPackage."""
    try:
        claimed = unverified(envelope)
        public = {str(key["keyid"]): str(key["public"]) for key in claimed["keys"]}
        current = str(claimed["current"])
        signer = {current: public[current]}
    except (KeyError, TypeError) as error:
        raise invalid("the list of the hub's keys is malformed") from error
    payload, _ = open_envelope(envelope, _LIST, signer)
    if any(keyid_of(pem) != keyid for keyid, pem in public.items()):
        raise invalid("a key of the hub has the id of another")
    try:
        revoked = {
            str(key["keyid"]): str(key["revoked_at"])
            for key in payload["keys"]
            if key["revoked_at"]
        }
        return KeyList(
            current=current,
            changed_at=str(payload["changed_at"]),
            public={keyid: pem for keyid, pem in public.items() if keyid not in revoked},
            revoked=revoked,
            successions={
                str(key["keyid"]): key["succession"]
                for key in payload["keys"]
                if key.get("succession")
            },
        )
    except (KeyError, TypeError) as error:
        raise invalid("the list of the hub's keys is malformed") from error


def follow(keys: KeyList, pinned: str, pinned_pem: str, *, hub: str) -> None:
    """Refuse a list that does not follow from the trusted key ``pinned``.

    Raises Untrusted: ``key_revoked``, ``key_changed``.
    """
    here, pem = pinned, pinned_pem
    for _ in keys.public:
        if here in keys.revoked:
            raise Untrusted(
                f"{hub} revoked its key {here[:16]} on {keys.revoked[here][:10]}.",
                "Ask its operators for the id of the new key, by another way than the hub, then "
                "run: hpcfair trust ID",
                code="key_revoked",
            )
        if here == keys.current:
            return
        here, pem = _next(keys, here, pem, hub)
    raise changed(hub, pinned, keys.current)


def changed(hub: str, pinned: str, current: str) -> Untrusted:
    """The error for a key that does not follow from the trusted one."""
    return Untrusted(
        f"{hub} has the key {current[:16]}, not {pinned[:16]}, which you trust, nor one that it "
        "named.",
        "Somebody may be between you and the hub. Ask its operators for the id of their key, by "
        "another way than the hub; if it is the new one, run: hpcfair trust ID",
        code="key_changed",
    )


def _next(keys: KeyList, here: str, pem: str, hub: str) -> tuple[str, str]:
    """The key that ``here`` named as its successor, and its PEM."""
    for keyid, envelope in keys.successions.items():
        try:
            payload, _ = open_envelope(envelope, _SUCCESSION, {here: pem})
        except Untrusted:
            continue
        # The successor has signed as well, so that its own envelope opens by its key, too.
        stated = (payload.get("from"), payload.get("to"), payload.get("public"))
        if stated == (here, keyid, keys.public.get(keyid)):
            return keyid, keys.public[keyid]
    raise changed(hub, here, keys.current)
