"""Commands for model bundles."""

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, say, size
from hpcfair.commands.run import Name, Revision
from hpcfair.explain import describe
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.scenarios import SCENARIOS, SINGLE_STREAM

Option = typer.Option


def bundle(
    context: typer.Context,
    name: Name,
    output: Annotated[Path, Option("--output", "-o", help="The file to write: x.hpcfair.")],
    revision: Revision = None,
    target: Annotated[
        list[str] | None,
        Option(help="Of the builds; else this machine's. May be given several times."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        Option(help=f"Of {', '.join(TOLERANCES)}; else exact. May be given several times."),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        Option(help=f"Of {', '.join(SCENARIOS)}. May be given several times."),
    ] = None,
    weights: Annotated[
        bool, Option("--weights/--no-weights", help="Whether to pack the published network, too.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Pack a model, its builds and evidence into a file that runs without the hub."""
    scenarios: list[Any] = scenario or [SINGLE_STREAM]
    summary = client_of(context).bundle(
        name,
        output,
        revision=revision,
        targets=target or (),
        tolerances=cast("list[Tolerance]", tolerance) or TOLERANCES[:1],
        scenarios=scenarios,
        weights=weights,
    )
    if as_json:
        emit_json(summary)
        return
    for build in summary.builds:
        say(f"{build.target}: {describe(build)}")
    if not summary.builds:
        say("No build for these targets: the published network alone is packed.")
    say(
        f"{summary.path}: {summary.name} at {summary.revision[:12]}, {size(summary.size_bytes)}. "
        f"Run it anywhere: hpcfair load {summary.path}"
    )
