"""``manage.py device``: lists the machines of the workers."""

from typing import Any

from django.core.management.base import BaseCommand

from registry.selectors.work.device import devices


class Command(BaseCommand):
    help = "List the machines that work for this hub, with their target and health."

    def handle(self, *_: Any, **__: Any) -> None:
        for device in devices():
            seen = f"{device.last_seen_at:%Y-%m-%d %H:%M:%S}Z" if device.last_seen_at else "never"
            self.stdout.write(f"{device.name}\t{device.target.slug}\t{device.health}\tseen {seen}")
