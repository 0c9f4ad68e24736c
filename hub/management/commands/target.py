"""``manage.py target``: lists, enables and disables targets, and registers those in a file."""

import argparse
import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from registry.errors import RegistryError
from registry.selectors.work.target import target_get, targets
from registry.services.work.target import target_enable, targets_import
from registry.tables import Target


class Command(OperatorCommand):
    help = (
        "List targets, enable or disable tuning for one of them, or register those in a file, "
        "which `hpcfair targets detect --json` writes."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", nargs="?")
        action = parser.add_mutually_exclusive_group()
        action.add_argument("--enable", dest="enabled", action="store_true", default=None)
        action.add_argument("--disable", dest="enabled", action="store_false")
        action.add_argument(
            "--import", dest="file", type=Path, metavar="FILE", help="JSON file with targets."
        )

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            rows = self._rows(options)
        except RegistryError as error:
            raise CommandError(str(error)) from error
        for target in rows:
            state = "enabled" if target.enabled else "disabled"
            self.stdout.write(f"{target.slug}\t{state}\t{target.title}")

    def _rows(self, options: dict[str, Any]) -> list[Target]:
        if options["file"]:
            return targets_import(actor=None, document=_document(options["file"]))
        slug = options["slug"]
        if slug and options["enabled"] is not None:
            return [target_enable(actor=None, slug=slug, enabled=options["enabled"])]
        return [target_get(slug)] if slug else list(targets())


def _document(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CommandError(f"{path} cannot be read as JSON: {error}") from error
