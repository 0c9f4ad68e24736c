"""``manage.py settings_reference``: the page docs/settings.md."""

from typing import Any

from hub.management.command import OperatorCommand
from hub.settings.reference import document


class Command(OperatorCommand):
    help = "Print docs/settings.md, the reference of all environment variables."

    def handle(self, *_: Any, **__: Any) -> None:
        self.stdout.write(document(), ending="")
