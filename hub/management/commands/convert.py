"""``manage.py convert``: queues conversions of models that are older than the converter."""

from typing import Any

from hub.management.command import OperatorCommand
from registry.services.results.conversion import conversions_queue


class Command(OperatorCommand):
    help = (
        "Queue the conversion of models of config.json and safetensors that were published before "
        "this hub converted such models. Those that a former converter refused are queued by the "
        "workers themselves."
    )

    def handle(self, *_: Any, **__: Any) -> None:
        count = len(conversions_queue())
        self.stdout.write(f"Queued {count} inspection{'s' * (count != 1)}.")
