"""Signing in and out."""

import os
import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from hpcfair import grant
from hpcfair.client import Client
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, say, size
from hpcfair.config import Config, forget_token, keep_token
from hpcfair.errors import BadInput
from hpcfair.trust.hubkeys import trust_at_login

Hub = Annotated[str | None, typer.Argument(help="Address of the hub; or write it after --url.")]
Url = Annotated[str | None, typer.Option("--url", help="Address of the hub.")]


def login(context: typer.Context, hub: Hub = None, url: Url = None, as_json: Json = False) -> None:
    """Store an access token for a hub and make that hub the default.

    The token is prompted for without being shown; without one, you sign in from a browser. It is
    read from standard input if that is not a terminal, or taken from HPCFAIR_TOKEN. It is verified
    and stored in a file that only you can read.
    """
    config = Config.read(url or hub or context.find_root().params.get("url"))
    secret = os.environ.get("HPCFAIR_TOKEN", "").strip()
    if secret:
        say("The token is taken from HPCFAIR_TOKEN.")
    elif sys.stdin.isatty():
        say(f"Paste a token of {config.url}/settings/tokens; it is not shown.")
        say("Or press Enter to sign in from a browser.")
        secret = typer.prompt("Token", hide_input=True, err=True, default="", show_default=False)
        secret = secret.strip() or _from_browser(config)
    secret = secret or sys.stdin.readline().strip()
    if not secret:
        raise BadInput("No token was given.", f"Make one on {config.url}/settings/tokens.")
    with Client(config.url, secret) as client:
        account = client.whoami()
        if not trust_at_login(client.http):
            say("Signatures of this hub are not verified: pip install 'hpcfair[verify]'")
    path = keep_token(config.url, secret)
    if as_json:
        emit_json({"hub": config.url, "name": account.name})
    say(f"Signed in to {config.url} as {account.name}; the token is kept in {path}.")


def _from_browser(config: Config) -> str:
    """A token that a person allows on the hub's page."""
    with Client(config=replace(config, token=None)) as client:
        sign_in = grant.begin(client.http)
        say(str(sign_in))
        return grant.token_of(client.http, sign_in)


def logout(context: typer.Context, hub: Hub = None, url: Url = None, as_json: Json = False) -> None:
    """Remove the stored token of a hub. It stays valid until it is revoked there."""
    config = Config.read(url or hub or context.find_root().params.get("url"))
    removed = forget_token(config.url)
    if as_json:
        emit_json({"hub": config.url, "removed": removed})
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
