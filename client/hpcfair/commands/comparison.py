"""Commands that compare builds."""

from typing import Annotated, Any, cast

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_table, say, size
from hpcfair.comparison import Cost
from hpcfair.explain import latency_text

Option = typer.Option


def compare(
    context: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Models, as namespace/name or namespace/name@revision."),
    ] = None,
    build: Annotated[
        list[str] | None, Option(help="Id of a build. May be given several times.")
    ] = None,
    target: Annotated[list[str] | None, Option(help="Only this target.")] = None,
    backend: Annotated[list[str] | None, Option(help="Only this backend.")] = None,
    tolerance: Annotated[list[str] | None, Option(help="Only this tolerance class.")] = None,
    accuracy: Annotated[float | None, Option(help="Least accuracy, such as 0.98.")] = None,
    latency_ms: Annotated[float | None, Option(help="Largest latency in milliseconds.")] = None,
    cost: Annotated[
        str, Option(help="Cost of a build: latency, energy, memory or size.")
    ] = "latency",
    as_json: Json = False,
) -> None:
    """Compare published builds of models, and name the cheapest one within limits."""
    document = client_of(context).compare(
        build or (),
        models=models or (),
        targets=target or (),
        backends=backend or (),
        tolerances=tolerance or (),
        accuracy=accuracy,
        latency_ms=latency_ms,
        # The hub refuses others.
        cost=cast("Cost", cost),
    )
    if as_json:
        emit_json(document)
        return
    columns = ("model", "target", "build", "latency", "accuracy", "memory", "size")
    emit_table(columns, [_row(each) for each in document["builds"]])
    for name, values in document["differences"].items():
        say(f"Measured under different conditions: {name}: {'; '.join(values)}")
    for name in document["missing"]:
        say(f"There is nothing called {name} that you may read.")
    if document["answer"]:
        say(_answer(document))


def _row(build: dict[str, Any]) -> tuple[str, ...]:
    figures = build["figures"]
    kind = "default" if build["is_baseline"] else build["tolerance"]
    return (
        build["mlmodel"],
        build["target"],
        f"{build['backend']} {kind}",
        latency_text(figures["latency"]) if figures["latency"] else "",
        "" if figures["accuracy"] is None else f"{100 * figures['accuracy']:.1f} %",
        "" if figures["memory"] is None else size(figures["memory"]),
        "" if figures["size"] is None else size(figures["size"]),
    )


def _answer(document: dict[str, Any]) -> str:
    answer = document["answer"]
    builds = {build["uuid"]: build for build in document["builds"]}
    best = builds.get(answer["cheapest"])
    if best is None:
        return f"None of {len(builds)} builds meets the limits."
    return (
        f"Cheapest by {answer['cost']} of {len(answer['fitting'])} within the limits: "
        f"{best['backend']} on {best['target']}, build {best['uuid']}."
    )
