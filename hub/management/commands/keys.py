"""``manage.py keys``: the keys that sign builds and records, and trusted keys of other hubs."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from registry.attestations.keys import SigningUnavailable
from registry.errors import RegistryError
from registry.selectors.trust.evidence import trusted_hubs
from registry.selectors.trust.key import hub_keys
from registry.services.trust.key import current_key, key_revoke, key_rotate
from registry.services.trust.trustedhub import hub_distrust, hub_trust
from registry.tables import HubKey


class Command(OperatorCommand):
    help = (
        "List the keys that sign builds and records, rotate the current one, or revoke one; trust "
        "keys of other hubs."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act")
        rotate = acts.add_parser("rotate", help="make a new key, named by the old one")
        rotate.add_argument("--key-file", type=Path, help="the new private key in PEM")
        rotate.add_argument(
            "--lost",
            action="store_true",
            help="the old private key is lost: users must confirm the new one",
        )
        revoke = acts.add_parser("revoke", help="let nobody accept the signatures of a key")
        revoke.add_argument("keyid")
        revoke.add_argument("--reason", required=True)
        trust = acts.add_parser("trust", help="trust a key of another hub; without a key, list")
        trust.add_argument("url", nargs="?", help="address of the other hub")
        trust.add_argument("keyid", nargs="?", help="id of its key, as its operators told you")
        trust.add_argument("--remove", action="store_true", help="trust it no longer")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            match options["act"]:
                case "rotate":
                    file = options["key_file"]
                    pem = file.read_bytes() if file else None
                    row = key_rotate(pem=pem, is_lost=options["lost"])
                    self.stdout.write(f"The current key is {row.keyid}.")
                case "revoke":
                    self._revoke(options["keyid"], options["reason"])
                case "trust":
                    self._trust(options["url"], options["keyid"], remove=options["remove"])
                case _:
                    current_key()
                    for row in hub_keys():
                        self.stdout.write(f"{row.keyid}\t{_state(row)}\t{row.valid_from:%Y-%m-%d}")
        except (RegistryError, SigningUnavailable, OSError) as error:
            raise CommandError(str(error)) from error

    def _trust(self, url: str | None, keyid: str | None, *, remove: bool) -> None:
        if url and remove:
            hub_distrust(url=url)
        elif url and keyid:
            hub_trust(url=url, keyid=keyid)
        elif url:
            raise CommandError("Name the id of its key, or --remove.")
        for row in trusted_hubs():
            self.stdout.write(f"{row.url}\t{row.keyid}")

    def _revoke(self, keyid: str, reason: str) -> None:
        new = key_revoke(keyid=keyid, reason=reason)
        self.stdout.write(f"{keyid} is revoked; workers sign again what it signed.")
        if new is not None:
            self.stdout.write(
                f"The current key is {new.keyid}. Tell your users by another way than the hub: "
                f"their clients refuse it until they run `hpcfair trust {new.keyid}`."
            )


def _state(key: HubKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}: {key.reason}"
    return "current" if key.valid_until is None else f"until {key.valid_until:%Y-%m-%d}"
