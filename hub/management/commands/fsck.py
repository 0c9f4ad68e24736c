"""``manage.py fsck``: integrity check of the blob store."""

import argparse
import json
import sys
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from hub.management.console import ProgressLine
from registry.errors import RegistryError
from registry.services.storage.fsck import IntegrityFault, fsck


class Command(OperatorCommand):
    help = (
        "Check that all stored bytes are present and intact, and that all ids can be recomputed. "
        "Changes nothing, and is safe while the hub is running. Exits with status 1 if something "
        "is damaged. Leftovers of killed uploads are listed and are no damage: `gc` removes them."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--quick", action="store_true", help="compare lengths, read no bytes")
        parser.add_argument("--json", action="store_true", help="print one JSON object per fault")

    def handle(self, *_: Any, **options: Any) -> None:
        line = ProgressLine()
        damaged = litter = 0
        try:
            for fault in fsck(quick=options["quick"], progress=line):
                line.clear()
                self.stdout.write(_spelled(fault, as_json=options["json"]))
                damaged += not fault.is_litter
                litter += fault.is_litter
        except RegistryError as error:
            raise CommandError(str(error)) from error
        finally:
            line.clear()
        if not options["json"]:
            self.stdout.write(f"{damaged} faults; {litter} leftovers for gc")
        if damaged:
            sys.exit(1)


def _spelled(fault: IntegrityFault, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(fault.as_dict())
    return f"{fault.kind}\t{fault.subject}\t{fault.detail}"
