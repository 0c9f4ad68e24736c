"""``manage.py device``: lists devices, changes their state, and issues codes for new ones."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from registry.errors import RegistryError
from registry.selectors.people.account import user_get
from registry.selectors.work.device import devices
from registry.services.work.device import DECISIONS, device_check
from registry.services.work.devicecode import device_code_issue
from registry.states import DeviceState
from registry.tables import Device

_ACTIONS = {
    "drain": (DeviceState.DRAINING, "Let a device end its job and get no more."),
    "resume": (DeviceState.ACTIVE, "Let a device get jobs again."),
    "maintenance": (DeviceState.MAINTENANCE, "Give a device no jobs until it is resumed."),
    "quarantine": (
        DeviceState.QUARANTINED,
        "Queue its jobs again, and refuse its results.",
    ),
    "retire": (DeviceState.RETIRED, "Retire a device for good: its token ends."),
}


class Command(OperatorCommand):
    help = "List devices, change the state of one, or issue a code with which a machine joins."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION")
        actions.add_parser("list", help="List devices with their target, state and health.")
        code = actions.add_parser("code", help="Issue a one-time code, valid for an hour.")
        code.add_argument("--target", help="By default the target of the machine's processor.")
        code.add_argument("--owner", help="Person who owns the device; by default the hub.")
        for name, (_, effect) in _ACTIONS.items():
            action = actions.add_parser(name, help=effect)
            action.add_argument("device")
            action.add_argument("--reason", default="")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self._act(options)
        except RegistryError as error:
            raise CommandError(str(error)) from error

    def _act(self, options: dict[str, Any]) -> None:
        action = options.get("action") or "list"
        if action == "list":
            device_check()
            for device in devices():
                self._show(device)
        elif action == "code":
            owner = user_get(options["owner"]) if options["owner"] else None
            code = device_code_issue(actor=None, target=options["target"], owner=owner)
            self.stdout.write(f"hpcfair-agent join {code} --hub {settings.HUB_URL}")
        else:
            decide = DECISIONS[_ACTIONS[action][0]]
            self._show(decide(actor=None, name=options["device"], reason=options["reason"]))

    def _show(self, device: Device) -> None:
        last = f"{device.last_seen_at:%Y-%m-%d %H:%M:%S}Z" if device.last_seen_at else "never"
        self.stdout.write(
            f"{device.name}\t{device.target.slug}\t{device.state}\t{device.health}\tseen {last}"
            + (f"\t{device.reason}" if device.reason else "")
        )
