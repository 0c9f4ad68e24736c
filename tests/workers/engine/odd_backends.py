"""Backends that hand over what a device must not take."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers.backends.fake.backend import FakeBackend
from workers.engine.errors import BackendUnavailable, InvalidCandidate
from workers.engine.intermediates import intermediate
from workers.engine.types import BuildResult, Network, Options, TargetSpec

#: What to change in an honest build's description.
WORDS: dict[str, dict[str, Any]] = {
    "no entry point": {"entry_point": "missing.json"},
    "outside": {"entry_point": "../../kernel.json"},
    "absolute": {"entry_point": "/etc/passwd"},
    "tolerance": {"tolerance": "perfect"},
    "options": {"runtime_options": 7},
    "nested value": {"runtime_options": {"threads": [1]}},
    "not a number": {"provenance": {"value": float("nan")}},
    "surrogate": {"runtime": "\ud800"},
    "long": {"provenance": {"story": "x" * 2**21}},
}


def _huge(out: Path) -> None:
    for name in ("huge", "huger"):
        with (out / name).open("wb") as file:
            file.truncate(12 * 2**20)


def _deep(out: Path) -> None:
    os.chdir(out)
    for _ in range(3000):
        os.mkdir("d")  # noqa: PTH102
        os.chdir("d")


def _many(out: Path) -> None:
    for number in range(10_001):
        (out / str(number)).touch()


#: What to do to an honest build's folder.
DEEDS: dict[str, Callable[[Path], object]] = {
    "pipe": lambda out: os.mkfifo(out / "pipe"),
    "hard link": lambda out: (out / "twin").hardlink_to(out / "kernel.json"),
    "name": lambda out: (out / "line\nbreak").touch(),
    "huge": _huge,
    "deep": _deep,
    "many": _many,
}


class OddBackend(FakeBackend):
    """Builds as the fake one does, then spoils the build in the way ``kernel`` names."""

    name = "odd"

    def build(
        self, network: Network, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        oddity = str(options["kernel"])
        build = super().build(network, target, self.default(network, target), out)
        if oddity in DEEDS:
            DEEDS[oddity](out)
        return replace(build, **WORDS.get(oddity, {}))


class GainlessBackend(FakeBackend):
    """Fails after an intermediate, and says whether that was there."""

    name = "gainless"

    def build(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        options: Options,  # noqa: ARG002
        out: Path,  # noqa: ARG002
    ) -> BuildResult:
        made: list[Path] = []
        with intermediate(network, "gainless", {}, made.append):
            raise InvalidCandidate("no gain, " + ("studied" if made else "read"))


class HomelessBackend(FakeBackend):
    """Needs a package that is not installed."""

    name = "homeless"

    def require(self, network: Network, target: TargetSpec) -> None:  # noqa: ARG002
        raise BackendUnavailable("Backend homeless needs the package nowhere.")
