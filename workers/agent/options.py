"""Options that several commands of ``hpcfair-agent`` share."""

from pathlib import Path
from typing import Annotated

import typer

from hpcfair.isolation.sandbox import LEVELS
from workers.device.ports import DeviceSettings

_MIB = 2**20

ChildMemory = Annotated[
    int,
    typer.Option(
        envvar="HPCFAIR_CHILD_MEMORY_MIB", min=512, help="MiB of memory of a child process."
    ),
]
Isolation = Annotated[
    str,
    typer.Option(
        envvar="HPCFAIR_ISOLATION", help=f"Least confinement accepted: {', '.join(LEVELS)}."
    ),
]


def settings_of(state: Path, child_memory_mib: int, isolation: str) -> DeviceSettings:
    """The settings of this machine. Raises BadParameter for an unknown level of confinement."""
    if isolation not in LEVELS:
        raise typer.BadParameter(f"{isolation!r} is not one of {', '.join(LEVELS)}.")
    return DeviceSettings(state / "work", child_memory_mib * _MIB, isolation)
