"""``manage.py search_reference``: the page docs/search.md."""

from typing import Any

from hub.management.command import OperatorCommand
from registry.search.reference import document


class Command(OperatorCommand):
    help = "Print docs/search.md, the reference of the query grammar."

    def handle(self, *_: Any, **__: Any) -> None:
        self.stdout.write(document(), ending="")
