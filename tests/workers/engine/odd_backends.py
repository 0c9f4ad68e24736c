"""Backends that hand over what a device must not take."""

import os
from pathlib import Path
from typing import Any

from workers.backends.fake.backend import FakeBackend
from workers.engine.types import BuildResult, Options, TargetSpec, Workload


class OddBackend(FakeBackend):
    """Builds as the fake one does, then spoils the artefact in the way ``kernel`` names."""

    name = "odd"

    def build(
        self, workload: Workload, target: TargetSpec, options: Options, out: Path
    ) -> BuildResult:
        good = super().build(workload, target, self.default(workload, target), out)
        spoilt: dict[str, Any] = {
            name: getattr(good, name)
            for name in ("directory", "entry_point", "runtime", "runtime_options", "tolerance")
        }
        match options["kernel"]:
            case "pipe":
                os.mkfifo(out / "pipe")
            case "hard link":
                (out / "twin").hardlink_to(out / "kernel.json")
            case "no entry point":
                spoilt["entry_point"] = "missing.json"
            case "outside":
                spoilt["entry_point"] = "../../kernel.json"
            case "absolute":
                spoilt["entry_point"] = "/etc/passwd"
            case "tolerance":
                spoilt["tolerance"] = "perfect"
            case "options":
                spoilt["runtime_options"] = 7
            case "huge":
                for name in ("huge", "huger"):
                    with (out / name).open("wb") as file:
                        file.truncate(12 * 2**20)
        return BuildResult(outcome="measured", **spoilt)
