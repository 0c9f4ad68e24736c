"""``manage.py reindex``: rebuilds the search index, and adds missing labels."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from registry.errors import RegistryError
from registry.search import index, snapshot
from registry.services.repository.card import (
    count_uncounted,
    label_unlabelled,
    tasks_from_architectures,
)
from registry.services.results.best import best_builds_rebuild


class Command(OperatorCommand):
    """Rebuilds the index, or applies the changes since its last update.

    Optional: an index that is missing, damaged or of an older format is replaced in the background.
    After an upgrade this command avoids that wait, and adds the labels and numbers of
    parameters that older models lack. It writes the table of best builds anew, which is needed only
    if its rows were lost or changed by hand. An interrupted build continues.
    """

    help = "Rebuild the search index; searches use the old one meanwhile."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        only = parser.add_mutually_exclusive_group()
        only.add_argument(
            "--catch-up",
            action="store_true",
            help="only apply the changes since the last update, or build a missing index",
        )
        only.add_argument(
            "--snapshot", type=Path, metavar="FILE", help="only write the index to a file"
        )
        only.add_argument(
            "--restore",
            type=Path,
            metavar="FILE",
            help="only use a snapshot as the index, and apply the changes since",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            if options["snapshot"]:
                snapshot.save(options["snapshot"])
                self.stdout.write(f"Wrote {options['snapshot']}.")
                return
            if options["restore"]:
                snapshot.take_up(options["restore"])
                self.stdout.write("The search index is up to date.")
                return
            if options["catch_up"]:
                index.catch_up(wait_s=index.FIRST_WAIT_S, budget_s=float("inf"))
                self.stdout.write("The search index is up to date.")
                return
            label_unlabelled()
            count_uncounted()
            tasks_from_architectures()
            best_builds_rebuild()
            count = index.rebuild(progress=self._progress)
        except RegistryError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Indexed {count} models.")

    def _progress(self, count: int) -> None:
        self.stderr.write(f"{count} models...")
