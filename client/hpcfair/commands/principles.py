"""Commands for what the hub learns about schedules."""

from typing import Annotated

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.jobs import document_of
from hpcfair.commands.output import Json, emit_json, emit_table, say

Option = typer.Option


def principles(
    context: typer.Context,
    status: Annotated[
        str | None, Option(help="Status: published, weakened, withdrawn or examined.")
    ] = None,
    operator: Annotated[str | None, Option(help="Operator, such as conv2d_nhwc.")] = None,
    as_json: Json = False,
) -> None:
    """List what fast schedules of each operator share."""
    rows = list(client_of(context).principles(status=status, anchor=operator))
    if as_json:
        emit_json(rows)
        return
    emit_table(
        ("status", "statement", "identifier"),
        ((each.status, each.words, each.identifier[:12]) for each in rows),
    )


def ablate(
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="Id of an operator workload.")],
    budget: Annotated[str | None, Option(help="Time for measuring, such as 1min.")] = None,
    wait: Annotated[bool, Option(help="Wait for the end, and show the result.")] = True,
    as_json: Json = False,
) -> None:
    """Revert the decisions of the best schedule of a workload, and measure what that costs."""
    client = client_of(context)
    job = client.ablate(workload, budget=budget)
    if not wait:
        if as_json:
            emit_json(document_of(job))
        else:
            say(f"Job {job.uuid} is {job.state}.")
        return
    job.wait()
    rows = client.ablations(workload)
    if as_json:
        emit_json(rows)
        return
    emit_table(
        ("decision", "reverted to", "ratio", "interval", "conclusion"),
        (
            (
                "control" if row["position"] < 0 else str(row["position"] + 1),
                row["reason"],
                f"{row['ratio']:.3f}" if row["ratio"] is not None else row["outcome"],
                f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f}" if row["ratio"] else "",
                row["verdict"],
            )
            for row in rows
        ),
    )
