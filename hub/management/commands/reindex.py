"""``manage.py reindex``: the search index, made again from the tables, and labels that lack."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry.errors import RegistryError
from registry.search import index
from registry.services.repository.card import label_unlabelled


class Command(BaseCommand):
    """Builds the index anew, or lets it catch up.

    The index never needs it: a search replaces one that is missing, damaged or out of date. Run
    it after an upgrade so that no visitor waits for that, and so that what was shared before
    there were labels is found in lists by them.
    """

    help = "Build the search index anew while searches go on in the old one."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--catch-up",
            action="store_true",
            help="only read what changed since the index last looked",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            if options["catch_up"]:
                index.catch_up(wait_s=index.FIRST_WAIT_S, budget_s=float("inf"))
                self.stdout.write("The search index has caught up.")
                return
            label_unlabelled()
            count = index.rebuild(progress=self._progress)
        except RegistryError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Indexed {count} models.")

    def _progress(self, count: int) -> None:
        self.stderr.write(f"{count} models...")
