"""``manage.py search_reference``: the page docs/search.md."""

from typing import Any

from django.core.management.base import BaseCommand

from registry.search.reference import document


class Command(BaseCommand):
    help = "Print docs/search.md, the reference of the query grammar."

    def handle(self, *_: Any, **__: Any) -> None:
        self.stdout.write(document(), ending="")
