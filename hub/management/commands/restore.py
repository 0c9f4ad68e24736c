"""``manage.py restore``: a backup becomes this hub."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from hub.management.console import ProgressLine
from registry.errors import RegistryError
from registry.services.storage.backup import backup_restore


class Command(OperatorCommand):
    help = (
        "Restore a backup into an empty hub: database, files, keys; then migrate the tables to "
        "this version. Stop the hub before, and start it afterwards."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="such as backup/20260102T030405Z")

    def handle(self, *_: Any, **options: Any) -> None:
        line = ProgressLine()
        try:
            made, damaged = backup_restore(options["path"], progress=line)
        except (RegistryError, OSError) as error:
            raise CommandError(str(error)) from error
        finally:
            line.clear()
        call_command("migrate", interactive=False, verbosity=0)
        self.stdout.write(f"Restored {made.hub} as of {made.made_at}, {made.blobs} blobs.")
        if damaged:
            raise CommandError(f"{len(damaged)} blobs of the backup cannot be read: run fsck.")
        self.stdout.write("manage.py fsck checks every byte.")
