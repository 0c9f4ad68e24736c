"""``manage.py gc``: garbage collection of blobs, revisions and uploads."""

import argparse
import json
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from hub.management.console import ProgressLine, span, spelled
from registry.errors import RegistryError
from registry.services.storage.gc import Freed, gc, recount


class Command(OperatorCommand):
    help = (
        "Delete bytes that no revision or build refers to, revisions that no branch or tag leads "
        "to, and unfinished uploads. Safe while the hub is running."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="only list what would be deleted"
        )
        parser.add_argument(
            "--grace",
            type=span,
            default=settings.GC_GRACE,
            help="spare what was used within this time: 24h, 7d (default: HPCFAIR_GC_GRACE_HOURS)",
        )
        parser.add_argument(
            "--recount",
            action="store_true",
            help="also recount the bytes that each repository uses",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *_: Any, **options: Any) -> None:
        line = ProgressLine()
        try:
            freed = gc(grace=options["grace"], dry_run=options["dry_run"], say=line)
            recounted = recount(say=line) if options["recount"] and not options["dry_run"] else 0
        except RegistryError as error:
            raise CommandError(str(error)) from error
        finally:
            line.clear()
        if options["json"]:
            self.stdout.write(json.dumps(freed.as_dict() | {"recounted": recounted}))
            return
        verb = "would free" if options["dry_run"] else "freed"
        total = freed.blob_bytes + freed.stray_bytes + freed.leftover_bytes
        self.stdout.write(f"{verb} {spelled(total)}")
        for count, what in _lines(freed, recounted):
            if count:
                self.stdout.write(f"  {count} {what}")


def _lines(freed: Freed, recounted: int) -> list[tuple[int, str]]:
    return [
        (freed.revisions, "revisions that nothing refers to"),
        (freed.payloads, "unused Xet payloads"),
        (freed.condemned, "blobs condemned: deleted after the grace period, unless used again"),
        (freed.blobs, f"blobs deleted, {spelled(freed.blob_bytes)}"),
        (freed.strays, f"blobs without a row, {spelled(freed.stray_bytes)}"),
        (freed.leftovers, f"leftovers of uploads, {spelled(freed.leftover_bytes)}"),
        (freed.news, "old entries of the search index's outbox"),
        (recounted, "repositories whose count of used bytes was corrected"),
    ]
