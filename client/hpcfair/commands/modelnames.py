"""Suggests names for one that was mistyped."""

from collections.abc import Iterator
from difflib import get_close_matches

import typer

from hpcfair.client import Client
from hpcfair.errors import HpcfairError

#: Key in the ``meta`` of a context: the name of the model that the command is about.
_NAME = "hpcfair.model_name"
_MOST = 100
_LIKENESS = 0.75


def remember_name(context: typer.Context, name: str) -> str:
    """Callback of arguments that name a model."""
    context.meta[_NAME] = name
    return name


def similar_names(context: typer.Context) -> list[str]:
    """Names of models like the one that a command named, the likeliest first."""
    name, client = context.meta.get(_NAME), context.find_root().obj
    if name is None or not isinstance(client, Client):
        return []
    return get_close_matches(name, set(_candidates(client, name)), n=3, cutoff=_LIKENESS)


def _candidates(client: Client, name: str) -> Iterator[str]:
    """Models of the namespace, in which the name may be wrong, and of that name in others."""
    namespace, _, own = name.partition("/")
    for query, limit in ((f"by:{namespace}", _MOST), (own, _MOST)):
        try:
            yield from (hit.name for hit in client.search(query, limit=limit))
        except HpcfairError:
            # There may be no such namespace; the command has failed for another reason.
            continue
