"""Commands for benchmark records."""

from itertools import islice
from typing import Annotated

import typer

from hpcfair.bench.reproduction import reproduce as reproduce_record
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, say
from hpcfair.explain import latency_text, ratio_text
from hpcfair.record import publish_record

app = typer.Typer(no_args_is_help=True, help="Benchmark records: read and repeated.")
RecordId = Annotated[str, typer.Argument(help="Id of a record, 64 hexadecimal digits.")]

#: Exit status if a repeated measurement contradicts the record.
NOT_REPRODUCED = 8


@app.command("list")
def list_(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="namespace/name")] = None,
    target: Annotated[str | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(min=1)] = 30,
    as_json: Json = False,
) -> None:
    """List records, newest first."""
    records = list(islice(client_of(context).records(name=name, target=target), limit))
    if as_json:
        emit_json([record.document for record in records])
        return
    rows = []
    for record in records:
        compared = record.comparison or {}
        ratio = ratio_text(*(compared.get(key) for key in ("ratio", "ratio_low", "ratio_high")))
        rows.append((record.id, record.mlmodel, record.target, latency_text(record.p50_ns), ratio))
    emit_table(("record", "model", "target", "median", "compared"), rows)


@app.command()
def show(context: typer.Context, record: RecordId) -> None:
    """Print a record's document, verified against its id."""
    emit_json(client_of(context).record(record).document)


@app.command()
def reproduce(
    context: typer.Context,
    record: RecordId,
    upload: Annotated[
        bool, typer.Option("--upload", help="Give the result to the hub, with this host's name.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Repeat the measurement of a record on this machine, and compare.

    Exit status 8 if this machine belongs to the record's target and the intervals of the two ratios
    do not overlap.
    """
    client = client_of(context)
    repeated = reproduce_record(client.http, client.cache, record)
    if as_json:
        emit_json({"agrees": repeated.agrees, "record": repeated.document})
    else:
        typer.echo(str(repeated))
    if upload:
        say(f"Uploaded as {publish_record(client.http, repeated.document)}.")
    if repeated.same_target and not repeated.agrees:
        raise typer.Exit(NOT_REPRODUCED)
