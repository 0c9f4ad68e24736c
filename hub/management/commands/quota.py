"""``manage.py quota``: storage use and quotas of namespaces."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from hub.management.console import size, spelled
from registry.errors import RegistryError
from registry.selectors.people.account import namespace_get
from registry.selectors.storage.quota import Usage, usage, usages
from registry.services.storage.quota import UNLIMITED, quota_set
from registry.tables import Namespace


class Command(BaseCommand):
    help = "List the storage that namespaces use, or set the quota of one of them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="a namespace; default: all")
        parser.add_argument(
            "--set",
            type=_quota,
            metavar="50GiB|default|none",
            dest="quota",
            default=argparse.SUPPRESS,
            help="a size, the hub's default (HPCFAIR_QUOTA_GIB), or none: unlimited",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        if "quota" in options and not options["name"]:
            raise CommandError("Name the namespace: quota NAME --set 50GiB")
        try:
            if not options["name"]:
                for namespace, used in usages():
                    self.stdout.write(_line(namespace, used))
                return
            namespace = namespace_get(None, options["name"])
            if "quota" in options:
                quota_set(actor=None, namespace=namespace, quota_bytes=options["quota"])
            self.stdout.write(_line(namespace, usage(namespace)))
        except RegistryError as error:
            raise CommandError(str(error)) from error


def _quota(text: str) -> int | None:
    if text == "default":
        return None
    return UNLIMITED if text == "none" else size(text)


def _line(namespace: Namespace, now: Usage) -> str:
    if now.quota_bytes is None:
        return f"{namespace.name}\t{spelled(now.used_bytes)}\tno quota"
    share = f"{now.share:.0%}" if now.quota_bytes else "full"
    origin = "own" if namespace.quota_bytes is not None else "default"
    return (
        f"{namespace.name}\t{spelled(now.used_bytes)}\tof {spelled(now.quota_bytes)} "
        f"({origin})\t{share}"
    )
