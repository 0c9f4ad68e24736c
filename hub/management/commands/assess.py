"""``manage.py assess``: lists FAIR scores, or queues assessment runs."""

import argparse
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from registry.errors import RegistryError
from registry.selectors.fair.assessment import assessable, newest_of, points_of
from registry.selectors.repository.mlmodel import repository_get
from registry.selectors.repository.revision import revision_get
from registry.services.fair.assessment import assess_request
from registry.states import RepositoryKind
from registry.tables import Revision


class Command(OperatorCommand):
    help = (
        "List the FAIR scores of records, the lowest first, or queue assessment runs of the named "
        "or of all public records."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAMESPACE/NAME", help="assess these")
        parser.add_argument("--dataset", action="store_true", help="the names are of data sets")
        parser.add_argument("--all", action="store_true", help="assess every public record")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["all"] and options["names"]:
            raise CommandError("Give names, or --all, not both.")
        try:
            if options["all"]:
                self._assess(assessable().order_by("pk").iterator())
            elif options["names"]:
                kind = RepositoryKind.DATASET if options["dataset"] else RepositoryKind.MODEL
                self._assess([_head(kind, name) for name in options["names"]])
            else:
                self._list()
        except RegistryError as error:
            raise CommandError(str(error)) from error

    def _assess(self, revisions: Iterable[Revision]) -> None:
        for revision in revisions:
            job = assess_request(actor=None, revision=revision)
            self.stdout.write(f"{revision.mlmodel.full_name}\t{job.state}\t{job.uuid}")

    def _list(self) -> None:
        rows = newest_of(None).select_related("revision__mlmodel__namespace").defer("document")
        for row in sorted(rows, key=lambda row: (points_of(row).percent, row.pk)):
            points, when = points_of(row), f"{row.created_at:%Y-%m-%d %H:%M}"
            score = f"{points.points:g} of {points.of:g}\t{points.percent} %\t{when}"
            self.stdout.write(f"{row.revision.mlmodel.full_name}\t{score}")


def _head(kind: RepositoryKind, full_name: str) -> Revision:
    return revision_get(repository_get(None, kind, full_name))
