"""``manage.py assess``: how FAIR records were found, and looks at them."""

import argparse
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry.errors import RegistryError
from registry.selectors.fair.assessment import assessable, newest_looks, points_of
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.repository.revision import revision_get
from registry.services.fair.assessment import assess_request
from registry.states import RepositoryKind
from registry.tables import Revision


class Command(BaseCommand):
    """Lists scores, or queues looks."""

    help = (
        "List how FAIR records were found, the worst first, or have the hub's workers look at "
        "some of them, or at all, from outside."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAMESPACE/NAME", help="look at these")
        parser.add_argument("--dataset", action="store_true", help="the names are of data sets")
        parser.add_argument("--all", action="store_true", help="look at all that is public")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["all"] and options["names"]:
            raise CommandError("Give names, or --all, not both.")
        try:
            if options["all"]:
                self._look(assessable().order_by("pk").iterator())
            elif options["names"]:
                kind = RepositoryKind.DATASET if options["dataset"] else RepositoryKind.MODEL
                self._look([_head(kind, name) for name in options["names"]])
            else:
                self._list()
        except RegistryError as error:
            raise CommandError(str(error)) from error

    def _look(self, revisions: Iterable[Revision]) -> None:
        for revision in revisions:
            job = assess_request(actor=None, revision=revision)
            self.stdout.write(f"{revision.mlmodel.full_name}\t{job.state}\t{job.uuid}")

    def _list(self) -> None:
        rows = newest_looks(None).select_related("revision__mlmodel__namespace").defer("document")
        for row in sorted(rows, key=lambda row: (points_of(row).percent, row.pk)):
            part, when = points_of(row), f"{row.created_at:%Y-%m-%d %H:%M}"
            said = f"{part.points:g} of {part.of:g}\t{part.percent} %\t{when}"
            self.stdout.write(f"{row.revision.mlmodel.full_name}\t{said}")


def _head(kind: RepositoryKind, full_name: str) -> Revision:
    return revision_get(repository_get(None, kind, full_name))
