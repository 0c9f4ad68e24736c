"""The command that imports a model of another server."""

from typing import Annotated

import typer

from hpcfair.commands.argumentorder import require_origin
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, say

Option = typer.Option


def import_model(
    context: typer.Context,
    origin: Annotated[
        str,
        typer.Argument(
            help="hf:org/name, hf:org/name@revision, hf:https://host/org/name, or x.hpcfair"
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(help="namespace/name here; default: your account, and its name there."),
    ] = None,
    license: Annotated[
        str | None, Option(help="License, if the card at the origin has none.")
    ] = None,
    private: Annotated[
        bool | None,
        Option(
            "--private/--public",
            help="Visibility; default: private, unless its license lets anyone pass it on.",
        ),
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Also replace files that were changed on the hub.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy a model of another server or of a bundle into the hub, or update it."""
    require_origin("import", origin, name)
    client = client_of(context)
    visibility = None if private is None else "private" if private else "public"
    done = client.import_model(
        origin, name, license=license, visibility=visibility, overwrite=overwrite
    )
    if as_json:
        emit_json(done)
        return
    what = f"{len(done.changed)} files changed, {len(done.deleted)} deleted"
    if not done.changed and not done.deleted:
        what = "nothing to do"
    say(f"{done.name} is {done.origin} at {done.commit[:12]}: {what}.")
    say(f"{client.config.url}/{done.name}")
