"""``manage.py backup``: a backup of database, files and keys in a folder."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from hub.management.console import ProgressLine, spelled
from registry.errors import RegistryError
from registry.services.storage.backup import backup_make


class Command(OperatorCommand):
    help = (
        "Back up the database, the files' bytes and the hub's keys into a folder. Safe while the "
        "hub is running. Each backup has a folder of its own; bytes are copied once for all "
        "backups in the folder. Exits with an error if bytes are missing."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--no-blobs",
            dest="with_blobs",
            action="store_false",
            help="without the files' bytes: for a bucket that is copied by other means",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        line = ProgressLine()
        try:
            path, made = backup_make(
                options["folder"], with_blobs=options["with_blobs"], progress=line
            )
        except (RegistryError, OSError) as error:
            raise CommandError(str(error)) from error
        finally:
            line.clear()
        size = spelled((path / "database.dump").stat().st_size)
        self.stdout.write(f"{path}: database {size}, {made.blobs} blobs, {made.copied} of them new")
        if made.missing:
            raise CommandError(
                f"The hub has lost the bytes of {len(made.missing)} blobs, such as "
                f"{made.missing[0]}; manage.py fsck lists them."
            )
