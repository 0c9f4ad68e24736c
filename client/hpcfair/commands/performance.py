"""Command that shows where the time of a build goes."""

from typing import Annotated

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table, say
from hpcfair.commands.run import Name


def perf(
    context: typer.Context,
    name: Name,
    target: Annotated[
        str | None, typer.Option(help="Target; default: the one with most profiles.")
    ] = None,
    build: Annotated[str | None, typer.Option(help="Build; default: the best one.")] = None,
    as_json: Json = False,
) -> None:
    """Show where the time of a build of a model goes, and why."""
    profile = client_of(context).performance(name, target=target, build=build)
    if as_json:
        emit_json(profile)
        return
    precisions = [f"{one or 'not reported'} {ns / max(profile.sum_ns, 1):.0%}"
                  for one, ns in profile.precisions.items()]  # fmt: skip
    emit_pairs(
        (
            ("build", f"{profile.backend} {profile.tolerance} for {profile.target}"),
            ("run", f"{_time(profile.total_ns)} under the profiler"),
            ("calls", f"{profile.count}, {_time(profile.sum_ns)} together"),
            ("precision", precisions),
            ("tuned", f"{profile.tuned_share:.0%} of the calls' time"),
        )
    )
    emit_table(
        ("call", "operators", "time", "spread", "share", "precision", "marks"),
        (
            (
                group.sequence,
                group.label,
                _time(group.median_ns) if group.is_plausible else "no valid time",
                _time(group.mad_ns) if group.is_plausible else "",
                f"{group.share:.1%}",
                group.precision,
                group.marks,
            )
            for group in profile.groups
        ),
    )
    for group in profile.groups:
        for reason in group.reasons:
            if reason.state == "applies":
                typer.echo(f"call {group.sequence}: {reason.title}. {reason.text}")
    if not profile.is_reconciled:
        say("The calls do not add up to the run: see the page of the model.")


def _time(ns: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"
