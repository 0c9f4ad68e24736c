"""``manage.py target``: lists, enables and disables targets."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry.errors import RegistryError
from registry.selectors.work.target import target_get, targets
from registry.services.work.target import target_enable


class Command(BaseCommand):
    help = "List targets, or enable or disable tuning for one of them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", nargs="?")
        switch = parser.add_mutually_exclusive_group()
        switch.add_argument("--enable", dest="enabled", action="store_true", default=None)
        switch.add_argument("--disable", dest="enabled", action="store_false")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            if options["slug"] and options["enabled"] is not None:
                target_enable(actor=None, slug=options["slug"], enabled=options["enabled"])
            rows = [target_get(options["slug"])] if options["slug"] else list(targets())
        except RegistryError as error:
            raise CommandError(str(error)) from error
        for target in rows:
            state = "enabled" if target.enabled else "disabled"
            self.stdout.write(f"{target.slug}\t{state}\t{target.title}")
