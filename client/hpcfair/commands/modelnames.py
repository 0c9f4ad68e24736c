"""The model that a command is about, for suggestions where its name was mistyped."""

import typer

from hpcfair.client import Client
from hpcfair.errors import ModelNotFound
from hpcfair.modelnames import suggest_names

#: Key in the ``meta`` of a context: the name of the model that the command is about.
_NAME = "hpcfair.model_name"


def remember_name(context: typer.Context, name: str) -> str:
    """Callback of arguments that name a model."""
    context.meta[_NAME] = name
    return name


def suggest_remembered(error: ModelNotFound, context: typer.Context) -> None:
    """Add names like the one that a command named to the hint of its error."""
    name, client = context.meta.get(_NAME), context.find_root().obj
    if name is not None and isinstance(client, Client):
        suggest_names(error, client.http, client.cache, name)
