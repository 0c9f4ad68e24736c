"""Command that fetches builds for other machines."""

from typing import Annotated

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, size
from hpcfair.commands.run import (
    MinAccuracy,
    Name,
    Revision,
    ScenarioName,
    Signed,
    Tolerated,
    limits_of,
)
from hpcfair.explain import describe, numbers
from hpcfair.scenarios import SINGLE_STREAM, checked_scenario

Option = typer.Option


def prefetch(
    context: typer.Context,
    name: Name,
    target: Annotated[
        list[str] | None,
        Option(help="Target of the machines; default: this machine's. May be repeated."),
    ] = None,
    runtime: Annotated[
        list[str] | None,
        Option(help="Runtime that they have; default: those installed here. May be repeated."),
    ] = None,
    revision: Revision = None,
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    scenario: ScenarioName = SINGLE_STREAM,
    signed: Signed = None,
    as_json: Json = False,
) -> None:
    """Fetch the best builds for other machines into the cache, to load there without the hub.

    A login node fetches for compute nodes that share its cache. They load with the same revision,
    limits and scenario, and with HPCFAIR_OFFLINE=1 if they have no network.
    """
    fetches = client_of(context).prefetch(
        name,
        targets=target or (),
        runtimes=runtime or (),
        revision=revision,
        scenario=checked_scenario(scenario),
        signed=signed,
        **limits_of(tolerance, min_accuracy),
    )
    if as_json:
        emit_json(fetches)
        return
    emit_table(
        ("target", "build", "speed", "size"),
        (
            (
                each.target,
                describe(each.build) if each.build else "the published network",
                numbers(each.build) if each.build else "",
                size(each.size_bytes),
            )
            for each in fetches
        ),
    )
