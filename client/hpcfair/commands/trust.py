"""Commands for signatures: the hub's key, and whether a build is signed by it."""

from pathlib import Path
from typing import Annotated

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs
from hpcfair.commands.run import (
    MinAccuracy,
    Name,
    Revision,
    Target,
    Tolerated,
    limits_of,
    load_model,
)
from hpcfair.modelbundle.reader import ModelBundle
from hpcfair.modelbundle.source import connection_of, is_bundle
from hpcfair.trust import hubkeys
from hpcfair.trust.origin import origin_signature


def trust(
    context: typer.Context,
    keyid: Annotated[
        str | None, typer.Argument(help="Id of the hub's key, as its operators told you.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(help="Model bundle, for the key of the hub that it was made from."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the hub's key that is trusted; with an ID, trust that key in place of the one before."""
    client = client_of(context)
    http = client.http if bundle is None else connection_of(client.config, ModelBundle(bundle))
    keys = hubkeys.trust(http, keyid) if keyid else hubkeys.hub_keys(http)
    if as_json:
        emit_json({"hub": http.config.url, "keyid": keys.current})
    else:
        emit_pairs([("hub", http.config.url), ("key", keys.current)])


def verify(
    context: typer.Context,
    name: Name,
    revision: Revision = None,
    target: Target = "auto",
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    as_json: Json = False,
) -> None:
    """Verify the signature of the best build, the digests of its files, and its record.

    Exit status 9 if a signature is missing or wrong.
    """
    limits = limits_of(tolerance, min_accuracy)
    with load_model(context, name, revision, target, limits, verify=True, signed=True) as model:
        record, signature = model.record, model.signed_by
        http = client_of(context).http
        origin = None if is_bundle(name) else origin_signature(http, model.name, model.revision)
        if as_json:
            stated = {"signature": signature, "origin": origin}
            emit_json({"name": model.name, "revision": model.revision, **stated})
            return
        emit_pairs(
            [
                ("model", f"{model.name} at {model.revision[:12]}"),
                ("signed", str(signature)),
                ("files", "as signed"),
                ("record", f"{record.id} as signed" if record else None),
                ("origin", f"{origin.origin} at {origin.commit[:12]}" if origin else None),
                ("signed there", str(origin) if origin else None),
            ]
        )
