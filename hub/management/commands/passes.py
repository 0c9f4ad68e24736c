"""``manage.py passes``: lists the portfolios of compiler passes."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from hub.management.command import OperatorCommand
from registry.errors import RegistryError
from registry.selectors.results.passes import portfolios
from registry.selectors.work.target import target_get
from registry.states import ArchitectureClass
from registry.tables import PassPortfolio


class Command(OperatorCommand):
    help = "List the best compiler passes of each architecture class, with their evidence."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--target", help="slug of a target; default: all")
        parser.add_argument("--class", dest="architecture_class", choices=ArchitectureClass.values)

    def handle(self, *_: Any, **options: Any) -> None:
        target = options["target"]
        try:
            if target:
                target_get(target)
        except RegistryError as error:
            raise CommandError(str(error)) from error
        rows = portfolios(target=target, architecture_class=options["architecture_class"])
        for portfolio in rows:
            for line in _lines(portfolio):
                self.stdout.write(line)


def _lines(portfolio: PassPortfolio) -> list[str]:
    networks = f"{portfolio.networks} network{'s' * (portfolio.networks != 1)} studied"
    head = (
        f"{portfolio.target.slug}\t{portfolio.architecture_class}\t{portfolio.backend} "
        f"({portfolio.toolchain})\t{networks}"
    )
    if not portfolio.lists:
        return [head, "  the compiler's own passes are best"]
    return [
        head,
        *(
            f"  {each['objective']} {each['ratio']:.2f} "
            f"(serves {each['networks']} of {portfolio.networks})\t{each['passes']}"
            for each in portfolio.lists
        ),
    ]
