"""``manage.py quota``: what namespaces use, and their quotas."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from hub.management.console import size, spelled
from registry.errors import RegistryError
from registry.selectors.people.account import namespace_get
from registry.selectors.storage.quota import Usage, allowances, usage, usages
from registry.services.storage.quota import UNLIMITED, quota_set
from registry.tables import Namespace

#: Option to description.
_COUNTED = {
    "models": "models and data sets",
    "jobs": "a person's jobs that wait or run",
    "uploads": "a person's incomplete uploads",
    "run_mib": "MiB of inputs and outputs of a person's runs on devices",
    "run_seconds": "seconds of a person's runs on devices in a day",
}


class Command(OperatorCommand):
    help = "List what namespaces use, or set the quotas of one of them."

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
        for what, about in _COUNTED.items():
            parser.add_argument(
                f"--{what.replace('_', '-')}",
                type=_number,
                metavar="NUMBER|default|none",
                default=argparse.SUPPRESS,
                help=f"quota of {about} (default: HPCFAIR_QUOTA_{what.upper()})",
            )

    def handle(self, *_: Any, **options: Any) -> None:
        limits = {f"quota_{what}": options[what] for what in _COUNTED if what in options}
        if "quota" in options:
            limits["quota_bytes"] = options["quota"]
        if limits and not options["name"]:
            raise CommandError("Name the namespace: quota NAME --set 50GiB")
        try:
            if not options["name"]:
                for namespace, used in usages():
                    self.stdout.write(_line(namespace, used))
                return
            namespace = namespace_get(None, options["name"])
            if limits:
                quota_set(actor=None, namespace=namespace, **limits)
            self.stdout.write(_line(namespace, usage(namespace)))
            for one in allowances(namespace):
                limit = "no quota" if one.limit is None else f"of {one.limit}"
                self.stdout.write(f"{namespace.name}\t{one.used} {one.about}\t{limit}")
        except RegistryError as error:
            raise CommandError(str(error)) from error


def _number(text: str) -> int | None:
    if text == "default":
        return None
    if text == "none":
        return UNLIMITED
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 'default' or 'none'")
    return int(text)


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
