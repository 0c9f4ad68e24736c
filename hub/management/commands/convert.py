"""``manage.py convert``: queues conversions of models that are older than the converter."""

from typing import Any

from django.core.management.base import BaseCommand

from registry.services.results.conversion import conversions_queue


class Command(BaseCommand):
    help = (
        "Queue the conversion of models of config.json and safetensors that were published before "
        "this hub converted such models. Those that a former converter refused are queued by the "
        "workers themselves."
    )

    def handle(self, *_: Any, **__: Any) -> None:
        count = len(conversions_queue())
        self.stdout.write(f"Queued {count} inspection{'s' * (count != 1)}.")
