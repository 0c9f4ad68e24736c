"""Signing in and out."""

import os
import sys
from typing import Annotated, Any

import typer

from hpcfair.client import Client
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, say, size
from hpcfair.config import Config, forget_token, keep_token
from hpcfair.errors import BadInput
from hpcfair.trust.hubkeys import trust_at_login


def login(
    context: typer.Context,
    url: Annotated[str | None, typer.Argument(help="Address of the hub.")] = None,
) -> None:
    """Store an access token for a hub and make that hub the default.

    The token is prompted for, read from standard input if that is not a terminal, or taken from
    HPCFAIR_TOKEN. It is verified and stored in a file that only you can read.
    """
    config = Config.read(url or context.find_root().params.get("url"))
    secret = os.environ.get("HPCFAIR_TOKEN", "")
    if not secret and sys.stdin.isatty():
        say(f"Make a token in your settings on {config.url}.")
        secret = typer.prompt("Token", hide_input=True, err=True)
    secret = (secret or sys.stdin.readline()).strip()
    if not secret:
        raise BadInput("No token was given.", f"Make one in your settings on {config.url}.")
    with Client(config.url, secret) as client:
        account = client.whoami()
        if not trust_at_login(client.http):
            say("Signatures of this hub are not verified: pip install 'hpcfair[verify]'")
    path = keep_token(config.url, secret)
    say(f"Signed in to {config.url} as {account.name}; the token is kept in {path}.")


def logout(
    context: typer.Context,
    url: Annotated[str | None, typer.Argument(help="Address of the hub.")] = None,
) -> None:
    """Remove the stored token of a hub. It stays valid until it is revoked there."""
    config = Config.read(url or context.find_root().params.get("url"))
    removed = forget_token(config.url)
    say(f"Signed out of {config.url}." if removed else f"No token was kept for {config.url}.")


def whoami(context: typer.Context, as_json: Json = False) -> None:
    """Show the account of the current token."""
    client = client_of(context)
    account = client.whoami()
    if as_json:
        emit_json(account)
        return
    token = account.token or {}
    emit_pairs(
        [
            ("hub", client.config.url),
            ("name", account.name),
            ("full name", account.full_name),
            ("email", account.email),
            ("ORCID", account.orcid),
            ("affiliation", account.affiliation or account.affiliation_ror),
            ("namespaces", [f"{n['name']} ({n['role']})" for n in account.namespaces]),
            ("token", token.get("name")),
            ("scope", token.get("scope")),
            ("expires", token.get("expires_at")),
            *((f"quota of {one['name']}", _spelled(one)) for one in account.quotas),
        ]
    )


def _spelled(quota: dict[str, Any]) -> str:
    """Use and limit of a quota, for people."""
    spell = size if quota["name"] == "bytes" else str
    limit = "unlimited" if quota["limit"] is None else f"of {spell(quota['limit'])}"
    return f"{spell(quota['used'])} {limit}"
