"""A backend that copies the file it reads, and normalisers of all kinds."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.backends.base import Artefact, BaseBackend
from workers.engine.child_work import network_from
from workers.engine.errors import InvalidCandidate
from workers.engine.space import Flag, Space
from workers.engine.types import Network, Options, TargetSpec

_MODULE = "tests.workers.engine.normalisers"
USUAL, NEEDLESS, REFUSING, OUTSIDE, CRASHING, WORDLESS = (
    f"{_MODULE}:{name}"
    for name in ("usual", "needless", "refusing", "outside", "crashing", "wordless")
)


class CopyingBackend(BaseBackend):
    """Copies the published file, or with ``converted`` the normal form."""

    name = "copying"

    def space(self, network: Network, target: TargetSpec) -> Space:  # noqa: ARG002
        return Space({"converted": Flag()})

    def reads_normal_form(self, options: Options) -> bool:
        return bool(options["converted"])

    def default(self, network: Network, target: TargetSpec) -> Options:  # noqa: ARG002
        return {"converted": False}

    def make(
        self,
        network: Network,
        target: TargetSpec,  # noqa: ARG002
        options: Options,  # noqa: ARG002
        out: Path,
    ) -> Artefact:
        shutil.copyfile(network.source_path, out / "copy")
        return Artefact("copy")


def usual(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    published = network_from(network).model_path
    (Path(out) / published.name).write_bytes(published.read_bytes().upper())
    return _described(published.name, "letters")


def needless(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    return _described("")


def refusing(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    raise InvalidCandidate("the network is too large")


def outside(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    return _described("../tmp")


def crashing(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    os.abort()


def wordless(*, network: Mapping[str, Any], out: str) -> dict[str, Any]:
    return {}


def _described(path: str, *steps: str) -> dict[str, Any]:
    skipped = {"digits": "there are none"}
    return {
        "path": path,
        "steps": list(steps),
        "skipped": skipped,
        "toolchain": {"letters": "1"},
    }
