"""Commands for benchmark records."""

from itertools import islice
from typing import Annotated

import typer

from hpcfair.bench.reproduction import reproduce as reproduce_record
from hpcfair.bench.server import measure_server
from hpcfair.commands.exitstatus import NOT_REPRODUCED
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, say
from hpcfair.commands.run import MinAccuracy, Name, Revision, Tolerated, limits_of, load_model
from hpcfair.explain import latency_text, ratio_text

app = typer.Typer(no_args_is_help=True, help="List, show and repeat benchmark records.")
RecordId = Annotated[str, typer.Argument(help="Id of a record, 64 hexadecimal digits.")]


@app.command("list")
def list_(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only records of this model.")] = None,
    target: Annotated[str | None, typer.Option(help="Only records of this target.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Records to show at most.")] = 30,
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
def show(context: typer.Context, record: RecordId, as_json: Json = False) -> None:  # noqa: ARG001
    """Print a record's document as JSON, verified against its id."""
    emit_json(client_of(context).record(record).document)


@app.command()
def reproduce(
    context: typer.Context,
    record: RecordId,
    upload: Annotated[
        bool,
        typer.Option(
            "--upload", help="Give the result to the hub, with your name and this host's."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Repeat the measurement of a record on this machine, and compare.

    Exit status 8 if this machine belongs to the record's target and the intervals of the two ratios
    do not overlap.
    """
    client = client_of(context)
    repeated = reproduce_record(client.http, client.cache, record, send=upload)
    if as_json:
        emit_json({"agrees": repeated.agrees, "record": repeated.document})
    else:
        typer.echo(str(repeated))
    if upload:
        say(f"Uploaded as {repeated.record_id}.")
    if repeated.same_target and not repeated.agrees:
        raise typer.Exit(NOT_REPRODUCED)


@app.command()
def server(
    context: typer.Context,
    name: Name,
    bound_ms: Annotated[float, typer.Option(min=0.001, help="Bound of the 99th percentile.")],
    samples: Annotated[
        int, typer.Option(min=100, help="Samples of each rate that is tried.")
    ] = 1000,
    revision: Revision = None,
    tolerance: Tolerated = None,
    min_accuracy: MinAccuracy = None,
    as_json: Json = False,
) -> None:
    """Find the largest rate of random arrivals whose 99th percentile keeps a bound.

    Measures the best build for this machine, one sample at a time. With --json, prints the record.
    """
    limits = limits_of(tolerance, min_accuracy)
    with load_model(context, name, revision, "auto", limits) as model:
        document = measure_server(model, round(bound_ms * 1e6), samples)
    if as_json:
        emit_json(document)
        return
    load, side = document["protocol"]["load"], document["statistics"]["candidate"]
    latency = latency_text(side.get("p99_ns") or side["max_ns"])
    verb = "keeps" if load["is_kept"] else "does not keep"
    typer.echo(f"{load['rate_per_s']:.4g} samples/s: p99 of {latency} {verb} {bound_ms:g} ms")
