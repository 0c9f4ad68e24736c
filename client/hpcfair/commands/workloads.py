"""Command for operator workloads."""

from itertools import islice
from typing import Annotated

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table

Option = typer.Option


def workloads(
    context: typer.Context,
    workload: Annotated[
        str | None, typer.Argument(help="Id of a workload, to list its fastest trials.")
    ] = None,
    target: Annotated[str | None, Option(help="Only workloads of this target.")] = None,
    operator: Annotated[
        str | None, Option(help="Part of the operator's name, such as conv2d.")
    ] = None,
    limit: Annotated[int, Option(min=1, help="Rows to show at most.")] = 30,
    as_json: Json = False,
) -> None:
    """List operators inside compiled networks, or the fastest schedules tried for one."""
    client = client_of(context)
    if workload is not None:
        trials = list(client.workload_trials(workload))
        timed = [trial for trial in trials if trial["median_s"] is not None]
        timed.sort(key=lambda trial: trial["median_s"])
        if as_json:
            emit_json(trials)
            return
        emit_table(
            ("median", "by", "decisions"),
            (
                (
                    _time(trial["median_s"]),
                    trial["proposed_by"],
                    ", ".join(f"{title} {text}" for title, text in trial["words"].items()),
                )
                for trial in timed[:limit]
            ),
        )
        return
    rows = list(islice(client.workloads(target=target, operator=operator), limit))
    if as_json:
        emit_json(rows)
        return
    emit_table(
        ("operator", "shapes", "target", "trials", "best", "id"),
        (
            (
                each.operator,
                each.shapes,
                each.target,
                str(each.trials),
                _time(each.confirmed_s if each.confirmed_s is not None else each.best_s),
                each.uuid,
            )
            for each in rows
        ),
    )


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "none"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
