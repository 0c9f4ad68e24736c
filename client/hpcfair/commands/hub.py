"""The client of a command."""

from typing import cast

import typer

from hpcfair.client import Client


def client_of(context: typer.Context) -> Client:
    """The client, created on first use, so that ``--help`` needs no configuration."""
    root = context.find_root()
    if root.obj is None:
        root.obj = Client(root.params.get("url"))
    return cast("Client", root.obj)
