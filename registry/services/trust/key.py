"""The hub's keys: the current one, rotation, revocation.

The private key is ``HPCFAIR_SIGNING_KEY`` or the file ``signing.key`` of the data folder. Public
keys are rows, so that former ones stay known.
"""

from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry.attestations.keylist import succession
from registry.attestations.keys import (
    SigningKey,
    SigningUnavailable,
    key_in,
    new_pem,
    read_key,
    replace_key,
)
from registry.errors import Invalid
from registry.services.audit import audit
from registry.tables import Build, HubKey, Record

_AT_ONCE = 1000


def current_key() -> tuple[HubKey, SigningKey]:
    """The row and the private part of the key that signs; both are made if there are none.

    Raises SigningUnavailable: the key is missing although the hub has had one, cannot be read, is
    not the current one of the hub, or ``cryptography`` is missing.
    """
    key = _private_key()
    row = HubKey.objects.filter(keyid=key.keyid).first()
    if row is None:
        if HubKey.objects.exists():
            # A worker with a data folder of its own must not replace the hub's key.
            raise SigningUnavailable(f"The signing key {key.keyid[:16]} is not one of this hub's.")
        with transaction.atomic():
            row = _register(key, None)
    if row.valid_until is not None:
        # A process that still has it would publish a list that contradicts the others'.
        raise SigningUnavailable(f"The signing key {key.keyid[:16]} was replaced or revoked.")
    return row, key


def key_rotate(*, pem: bytes | None = None, is_lost: bool = False) -> HubKey:
    """Make a new key the current one; the old one signs that it is its successor.

    Args:
        is_lost: The old private key is lost and signs nothing: users must confirm the new one.
        pem: The new private key; by default it is made here. Needed if the key is given by
            ``HPCFAIR_SIGNING_KEY``, whose value must be replaced afterwards.

    Raises:
        SigningUnavailable: the old or the new key cannot be used.
        Invalid: ``invalid_request``: the new key is missing, or is a known one.
    """
    if pem is None and settings.SIGNING_KEY_GIVEN:
        raise Invalid(
            "invalid_request",
            "The signing key is given by HPCFAIR_SIGNING_KEY.",
            "Name the file of the new key, and set the variable to it afterwards.",
        )
    old = None if is_lost else current_key()[1]
    pem = pem or new_pem()
    new = read_key(pem)
    if HubKey.objects.filter(keyid=new.keyid).exists():
        raise Invalid("invalid_request", "This key has been used already.", "Make a new one.")
    at = timezone.now().isoformat(timespec="seconds")
    with transaction.atomic():
        named_by = succession(old, new, hub=settings.HUB_URL, at=at) if old else None
        row = _register(new, named_by)
        audit(None, "key.rotate", new.keyid, detail={"from": old.keyid if old else ""})
        if not settings.SIGNING_KEY_GIVEN:
            # The last act of the transaction: until here the old key stays in use.
            replace_key(_key_file(), pem)
    return row


def key_revoke(*, keyid: str, reason: str) -> HubKey | None:
    """Revoke a key: clients refuse what it signed, and the hub signs it again with the current one.

    If it is the current key, a new key is made, and returned. A revoked key cannot name its
    successor: users must confirm the new one themselves.

    Raises ``Invalid``: ``invalid_request``: there is no such key, it is revoked already, or it is
    given by ``HPCFAIR_SIGNING_KEY``, which must be replaced first.
    """
    row = HubKey.objects.filter(keyid=keyid).first()
    if row is None or row.revoked_at is not None:
        raise Invalid(
            "invalid_request",
            f"There is no valid key {keyid[:64]!r}.",
            "`manage.py keys` lists the keys.",
        )
    is_current = row.valid_until is None
    if is_current and settings.SIGNING_KEY_GIVEN:
        raise Invalid(
            "invalid_request",
            "This key is given by HPCFAIR_SIGNING_KEY.",
            "Set the variable to a new key first.",
        )
    new = None
    with transaction.atomic():
        row.revoked_at, row.reason = timezone.now(), reason[:500]
        row.save(update_fields=["revoked_at", "reason"])
        audit(None, "key.revoke", keyid, detail={"reason": row.reason})
        if is_current:
            pem = new_pem()
            new = _register(read_key(pem), None)
            replace_key(_key_file(), pem)
    _unsign(Build, row)
    _unsign(Record, row)
    return new


def _unsign(table: type[Build] | type[Record], key: HubKey) -> None:
    """Remove the signatures of a key, so that the background task makes new ones."""
    rows = table._default_manager.filter(signed_by=key)  # noqa: SLF001  Django's public name
    while some := rows.values("pk")[:_AT_ONCE]:
        table._default_manager.filter(pk__in=[row["pk"] for row in some]).update(  # noqa: SLF001
            envelope=None, signed_by=None, signed_at=None
        )


def _register(key: SigningKey, named_by: dict[str, object] | None) -> HubKey:
    now = timezone.now()
    row, is_new = HubKey.objects.get_or_create(
        keyid=key.keyid,
        defaults={"public_pem": key.public_pem, "valid_from": now, "succession": named_by},
    )
    if is_new:
        HubKey.objects.exclude(pk=row.pk).filter(valid_until=None).update(valid_until=now)
    return row


def _private_key() -> SigningKey:
    if settings.SIGNING_KEY_GIVEN:
        return _from_setting(settings.SIGNING_KEY_GIVEN)
    path = _key_file()
    try:
        status = path.stat()
    except OSError:
        if HubKey.objects.exists():
            raise SigningUnavailable("signing.key is missing in the data folder.") from None
        return key_in(path)
    return _stored(path, status.st_mtime_ns, status.st_ino)


def _key_file() -> Path:
    folder: Path = settings.DATA_DIR
    return folder / "signing.key"


@lru_cache(maxsize=1)
def _from_setting(pem: str) -> SigningKey:
    return read_key(pem.encode())


@lru_cache(maxsize=4)
def _stored(path: Path, *_: int) -> SigningKey:
    """The key in a file, read again after each change of its time or number."""
    return key_in(path)
