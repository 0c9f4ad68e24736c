"""The options of benchmarks that search models."""

import argparse
from collections.abc import Sequence
from pathlib import Path


class SearchOptions:
    """The parser of such a benchmark, with the options that all of them have.

    Args:
        models: Names of the models that are searched by default.
        quick: Those of a quick run.

    Attributes:
        parser: For further options.
        networks: The group of ``--models``, for other ways to choose networks in its place.
    """

    def __init__(
        self, description: str | None, models: Sequence[str], quick: Sequence[str]
    ) -> None:
        self._models, self._quick = models, quick
        self._numbers: dict[str, tuple[float, float]] = {}
        self.parser = argparse.ArgumentParser(description=description)
        self.networks = self.parser.add_mutually_exclusive_group()
        self.networks.add_argument("--models", help=f"examples, by default {','.join(models)}")
        add = self.parser.add_argument
        add("--backends", help="of the searches, by default all that are here")
        add("--cache", type=Path, default=Path(".bench"), help="models and results")
        add("--quick", action="store_true", help="does it run? no figures to quote")

    def number(self, name: str, usual: float, quick: float, meaning: str) -> None:
        """Add a number of the type of ``usual``, its default; ``quick`` is that of a quick run."""
        self._numbers[name] = (usual, quick)
        text = f"{meaning}, by default {usual:g}"
        self.parser.add_argument(f"--{name}", type=type(usual), help=text)

    def parse(self) -> argparse.Namespace:
        """The options of the command line, with ``models`` and ``backends`` as lists; ``backends``
        may be ``None``."""
        options = self.parser.parse_args()
        models = self._quick if options.quick else self._models
        options.models = options.models.split(",") if options.models else list(models)
        options.backends = options.backends.split(",") if options.backends else None
        for name, (usual, quick) in self._numbers.items():
            if getattr(options, name) is None:
                setattr(options, name, quick if options.quick else usual)
        return options
