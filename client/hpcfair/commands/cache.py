"""The files kept on this machine."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from hpcfair import upkeep
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, say, size

app = typer.Typer(no_args_is_help=True, help="The files kept on this machine.")

#: Something in the cache was not what its name says.
DAMAGED = 1
_DAY_S = 86_400.0


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List what the cache holds, last used first."""
    cache = client_of(context).cache
    found = upkeep.entries(cache)
    if as_json:
        emit_json({"folder": cache.root, "size_bytes": upkeep.size_bytes(cache), "entries": found})
        return
    emit_table(
        ("what", "files", "size", "used"),
        ((e.what, len(e.files), size(e.size_bytes), _moment(e.used_at)) for e in found),
    )
    say(f"{cache.root}: {size(upkeep.size_bytes(cache))}")


@app.command()
def prune(
    context: typer.Context,
    days: Annotated[float, typer.Option(min=0, help="Remove what was unused for so long.")] = 30,
    as_json: Json = False,
) -> None:
    """Remove what was not used lately. It is fetched again when wanted."""
    removed = upkeep.prune(client_of(context).cache, unused_s=days * _DAY_S)
    if as_json:
        emit_json(removed)
    else:
        say(f"Removed {removed.entries} builds or revisions, {size(removed.size_bytes)}.")


@app.command()
def verify(context: typer.Context, as_json: Json = False) -> None:
    """Hash everything, and remove what is damaged. Ends with status 1 if something was."""
    damaged = upkeep.verify(client_of(context).cache)
    if as_json:
        emit_json({"damaged": damaged})
    elif not damaged:
        say("All files are what they should be.")
    else:
        for name in damaged:
            typer.echo(name)
        say("Removed; they are fetched again when wanted.")
    if damaged:
        raise typer.Exit(DAMAGED)


def _moment(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
