"""The command that shows a network as a graph."""

from typing import Annotated

import typer

from hpcfair.commands.files import Pulled
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, say
from hpcfair.topology import tree


def graph(
    context: typer.Context,
    name: Pulled,
    path: Annotated[
        str | None, typer.Option(help="File of the network; default: the primary one.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit id.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Levels of groups to open.")] = None,
    as_json: Json = False,
) -> None:
    """Show a network as a tree of groups and nodes, or the whole graph as JSON."""
    client = client_of(context)
    document = client.topology(name, revision=revision, path=path)
    if as_json:
        emit_json(document)
        return
    for line in tree(document, depth=depth):
        typer.echo(line)
    if document["omitted"]:
        say(f"Incomplete: {', '.join(document['omitted'])}.")
