"""``manage.py bundle``: jobs for devices without a network, carried as files."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from hpcfair.bundle import BundleInvalid
from hub.management.command import OperatorCommand
from registry.attestations.keys import keyid_of
from registry.errors import RegistryError
from registry.selectors.work.bundle import bundle_pieces, bundles
from registry.services.work.bundle import bundle_cancel, bundle_export
from registry.services.work.bundleidentity import bundle_enrol
from registry.services.work.bundleimport import bundle_import
from registry.tables import JobBundle

_HOUR_S = 3600.0
_SHOWN = 50


class Command(OperatorCommand):
    help = "Export jobs for a device without a network, import its results, or list bundles."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action")
        enrol = actions.add_parser("enrol", help="register a device by its identity file")
        enrol.add_argument("identity", type=Path)
        export = actions.add_parser("export", help="claim jobs for a device, as a file")
        export.add_argument("--device", required=True, metavar="NAME")
        export.add_argument("--budget", required=True, type=float, metavar="SECONDS")
        export.add_argument(
            "--lease",
            type=float,
            default=72.0,
            metavar="HOURS",
            help="time until the results must have been imported (default: 72)",
        )
        export.add_argument("out", type=Path)
        results = actions.add_parser("import", help="import the results of a device")
        results.add_argument("results", type=Path)
        cancel = actions.add_parser("cancel", help="queue the jobs of a bundle again")
        cancel.add_argument("uuid")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            match options["action"]:
                case "enrol":
                    self._enrol(options["identity"])
                case "export":
                    self._export(options)
                case "import":
                    self._import(options["results"])
                case "cancel":
                    row = bundle_cancel(actor=None, uuid=options["uuid"])
                    self.stdout.write(f"{row} is cancelled; its jobs are queued again.")
                case _:
                    for row in bundles(None)[:_SHOWN]:
                        self.stdout.write(_line(row))
        except (RegistryError, BundleInvalid, OSError) as error:
            raise CommandError(str(error)) from error

    def _enrol(self, identity: Path) -> None:
        device = bundle_enrol(actor=None, path=identity)
        self.stdout.write(f"{device} is a device of target {device.target}.")
        self.stdout.write(f"Its key has the id {keyid_of(device.public_key)}")

    def _export(self, options: dict[str, Any]) -> None:
        out: Path = options["out"]
        if out.exists():
            raise CommandError(f"{out} exists already.")
        row = bundle_export(
            actor=None,
            device=options["device"],
            budget_s=options["budget"],
            lease_s=options["lease"] * _HOUR_S,
        )
        temporary = out.with_name(f".{out.name}.part")
        with temporary.open("wb") as file:
            for piece in bundle_pieces(row):
                file.write(piece)
        temporary.replace(out)
        self.stdout.write(_line(row))

    def _import(self, results: Path) -> None:
        row = bundle_import(actor=None, path=results)
        self.stdout.write(_line(row))
        for one in row.report:
            self.stdout.write(f"{one['job']}\t{one['outcome']}\t{one['detail']}")


def _line(row: JobBundle) -> str:
    due = f"due {row.lease_until:%Y-%m-%d %H:%M}Z"
    jobs = f"{len(row.claims)} job{'s' * (len(row.claims) != 1)}"
    return f"{row}\t{row.device}\t{row.state}\t{jobs}\t{due}"
