"""Command for running a model on its test tensors."""

import typer

from hpcfair.commands.exitstatus import NOT_REPRODUCED
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json
from hpcfair.commands.run import MinAccuracy, Name, Revision, Target, Tolerated, limits_of


def reproduce(
    context: typer.Context,
    name: Name,
    revision: Revision = None,
    target: Target = "auto",
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    as_json: Json = False,
) -> None:
    """Run the best build on the test tensors on this machine, and compare.

    Exit status 8 if the outputs differ.
    """
    result = client_of(context).reproduce(
        name,
        revision=revision,
        target=None if target == "none" else target,
        **limits_of(tolerance, min_accuracy),
    )
    if as_json:
        emit_json(result)
    else:
        typer.echo(str(result))
    if not result.reproduced:
        raise typer.Exit(NOT_REPRODUCED)
