"""The other hubs whose keys operators trust."""

from django.db import transaction

from registry.errors import Invalid
from registry.ids import SHA256_RE
from registry.services.audit import audit
from registry.tables import ForeignHub
from registry.validation.url import check_url


def hub_trust(*, url: str, keyid: str) -> ForeignHub:
    """Trust the key ``keyid`` of the hub at ``url``, in place of one before.

    Raises ``Invalid``: ``invalid_url``; ``invalid_request``: it is not the id of a key.
    """
    url = url.rstrip("/")
    check_url(url, private=True)
    if not SHA256_RE.fullmatch(keyid):
        raise Invalid(
            "invalid_request",
            f"{keyid[:64]!r} is not the id of a key.",
            "`manage.py keys` at the other hub lists its keys.",
        )
    with transaction.atomic():
        row, _ = ForeignHub.objects.update_or_create(url=url, defaults={"keyid": keyid})
        audit(None, "hub.trust", url, detail={"keyid": keyid})
    return row


def hub_distrust(*, url: str) -> None:
    """Trust no key of the hub at ``url`` any longer. Raises ``Invalid``: ``invalid_request``: none
    was trusted."""
    with transaction.atomic():
        deleted, _ = ForeignHub.objects.filter(url=url.rstrip("/")).delete()
        if not deleted:
            raise Invalid("invalid_request", f"No key of {url[:200]} is trusted.")
        audit(None, "hub.distrust", url.rstrip("/"))
