"""``manage.py settings_reference``: the page docs/settings.md."""

from typing import Any

from django.core.management.base import BaseCommand

from hub.settings.reference import document


class Command(BaseCommand):
    help = "Print docs/settings.md, the reference of all environment variables."

    def handle(self, *_: Any, **__: Any) -> None:
        self.stdout.write(document(), ending="")
