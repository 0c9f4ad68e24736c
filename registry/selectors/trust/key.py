"""The hub's public keys."""

from datetime import datetime

from django.conf import settings

from registry.attestations.keylist import PublicKey, key_list
from registry.attestations.keys import SigningKey
from registry.tables import HubKey


def hub_keys() -> list[HubKey]:
    """All keys, the newest first."""
    return list(HubKey.objects.order_by("-valid_from", "-pk"))


def key_get(keyid: str) -> HubKey | None:
    """The key of that id, current or former."""
    return HubKey.objects.filter(keyid=keyid).first()


def signed_key_list(current: SigningKey) -> dict[str, object]:
    """The envelope of all keys, signed by the current one."""
    rows = hub_keys()
    times = [
        time for row in rows for time in (row.valid_from, row.valid_until, row.revoked_at) if time
    ]
    return key_list(
        [
            PublicKey(
                keyid=row.keyid,
                public_pem=row.public_pem,
                valid_from=_text(row.valid_from) or "",
                valid_until=_text(row.valid_until),
                revoked_at=_text(row.revoked_at),
                reason=row.reason,
                succession=row.succession,
            )
            for row in rows
        ],
        current,
        hub=settings.HUB_URL,
        changed_at=_text(max(times)) or "",
    )


def _text(time: datetime | None) -> str | None:
    return time.isoformat(timespec="microseconds") if time else None
