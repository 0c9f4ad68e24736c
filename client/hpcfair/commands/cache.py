"""Commands for the local cache."""

from datetime import datetime, timezone
from typing import Annotated

import typer

from hpcfair import upkeep
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, say, size
from hpcfair.errors import NotFound

app = typer.Typer(
    no_args_is_help=True, help="Show, verify and clean up the files kept on this machine."
)

#: Exit status if a cached file was damaged.
DAMAGED = 1
_DAY_S = 86_400.0


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List the contents of the cache and of those of the site, most recently used first."""
    cache = client_of(context).cache
    entries = upkeep.entries(cache)
    site = [(layer.root, upkeep.entries(layer)) for layer in cache.layers]
    total = upkeep.size_bytes(cache)
    if as_json:
        layers = [{"folder": folder, "entries": listed} for folder, listed in site]
        emit_json(
            {"folder": cache.root, "size_bytes": total, "entries": entries, "site_caches": layers}
        )
        return
    listed = [(entry, "") for entry in entries]
    listed += [(entry, str(folder)) for folder, each in site for entry in each]
    emit_table(
        ("what", "files", "size", "used", *(["site"] if site else [])),
        (
            (e.what, len(e.files), size(e.size_bytes), _moment(e.used_at), *([of] if site else []))
            for e, of in listed
        ),
    )
    say(f"{cache.root}: {size(total)}")


@app.command()
def prune(
    context: typer.Context,
    days: Annotated[
        float, typer.Option(min=0, help="Days without use after which it is removed.")
    ] = 30,
    as_json: Json = False,
) -> None:
    """Remove what was not used recently. It is downloaded again when needed."""
    removed = upkeep.prune(client_of(context).cache, unused_s=days * _DAY_S)
    if as_json:
        emit_json(removed)
    else:
        say(f"Removed {removed.entries} builds or revisions, {size(removed.size_bytes)}.")


@app.command()
def pin(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="namespace/name, as `hpcfair cache list` shows it.")],
    is_removed: Annotated[bool, typer.Option("--remove", help="Unpin it.")] = False,
    as_json: Json = False,
) -> None:
    """Keep what is cached of a model: neither prune nor the budget removes it."""
    count = upkeep.pin(client_of(context).cache, name, is_pinned=not is_removed)
    if not count:
        raise NotFound(f"Nothing of {name} is in the cache.", code="not_cached")
    if as_json:
        emit_json({"name": name, "entries": count, "pinned": not is_removed})
    else:
        say(f"{'Unpinned' if is_removed else 'Pinned'} {count} builds or revisions of {name}.")


@app.command()
def verify(context: typer.Context, as_json: Json = False) -> None:
    """Verify all files and remove damaged ones. Exit status 1 if there were any."""
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
    return datetime.fromtimestamp(timestamp, timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M")
