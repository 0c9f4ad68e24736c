"""The published list of the hub's keys, and the succession of one key by the next.

``hpcfair`` trusts the key that it saw first. It follows to another one only by successions, each
signed by the key before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from registry.attestations.envelope import sign
from registry.attestations.keys import SigningKey

LIST_TYPE = "application/vnd.hpcfair.keys+json"
SUCCESSION_TYPE = "application/vnd.hpcfair.key-succession+json"
SCHEME = "ecdsa-sha2-nistp256"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key of the hub, current or former.

    Attributes:
        valid_from, valid_until, revoked_at: Times in ISO 8601; ``None``: still valid, not revoked.
        succession: Envelope in which the key before it names this one; ``None`` for the first key,
            and for one that replaced a revoked or lost key.
    """

    keyid: str
    public_pem: str
    valid_from: str
    valid_until: str | None
    revoked_at: str | None
    reason: str
    succession: dict[str, Any] | None

    def as_json(self) -> dict[str, Any]:
        return {
            "keyid": self.keyid,
            "keytype": "ecdsa",
            "scheme": SCHEME,
            "public": self.public_pem,
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "revoked_at": self.revoked_at,
            "reason": self.reason,
            "succession": self.succession,
        }


def key_list(
    keys: Sequence[PublicKey], current: SigningKey, *, hub: str, changed_at: str
) -> dict[str, Any]:
    """The signed list. ``changed_at`` is the time of its last change, by which clients refuse an
    older list."""
    payload = {
        "schema": "hpcfair.keys/1",
        "hub": hub,
        "changed_at": changed_at,
        "current": current.keyid,
        "keys": [key.as_json() for key in keys],
    }
    return sign(payload, LIST_TYPE, current)


def succession(old: SigningKey, new: SigningKey, *, hub: str, at: str) -> dict[str, Any]:
    """The statement of ``old`` that ``new`` is its successor; ``new`` signs it as well."""
    payload = {
        "schema": "hpcfair.key-succession/1",
        "hub": hub,
        "from": old.keyid,
        "to": new.keyid,
        "public": new.public_pem,
        "at": at,
    }
    return sign(payload, SUCCESSION_TYPE, old, new)
