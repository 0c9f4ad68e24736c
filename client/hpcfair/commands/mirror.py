"""The command that keeps models of another hub up to date in the hub."""

from collections import Counter
from typing import Annotated

import typer

from hpcfair.commands.exitstatus import exit_status
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, say
from hpcfair.mirror import MirroredModel, State

Option = typer.Option
_WORDS: dict[State, str] = {
    "new": "new",
    "updated": "updated",
    "evidence": "with new evidence",
    "unchanged": "unchanged",
    "gone": "gone at the source",
    "refused": "refused",
}


def mirror(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="Address of the other hub.")],
    selection: Annotated[
        list[str], typer.Argument(help="Models there: namespace/name, namespace/*, or a query.")
    ],
    to: Annotated[
        str | None, Option(help="Namespace for all of them; else each keeps its own.")
    ] = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Also replace files that were changed on this hub.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring models of another hub up to date here, with their identifiers and signatures.

    Prints a line for each model: state, name here, origin, and what changed or why not. Nothing is
    deleted. The exit status is that of the first refusal.
    """
    done: list[MirroredModel] = []
    client = client_of(context)
    for one in client.mirror(source, *selection, to=to, overwrite=overwrite, dry_run=dry_run):
        done.append(one)
        if not as_json:
            typer.echo(f"{one.state}\t{one.name}\t{one.origin}\t{_detail(one)}")
    if as_json:
        emit_json([_plain(one) for one in done])
    counts = Counter(one.state for one in done)
    states = ", ".join(f"{counts[state]} {words}" for state, words in _WORDS.items())
    say(f"{len(done)} models{' (dry run)' if dry_run else ''}: {states}.")
    refusal = next((one.error for one in done if one.error), None)
    if refusal:
        raise typer.Exit(exit_status(refusal))


def _detail(one: MirroredModel) -> str:
    if one.reason:
        return one.reason.replace("\n", " ")
    if one.changed or one.deleted:
        return f"{len(one.changed)} files changed, {len(one.deleted)} deleted"
    return ""


def _plain(one: MirroredModel) -> dict[str, object]:
    return {
        "origin": one.origin,
        "name": one.name,
        "state": one.state,
        "changed": one.changed,
        "deleted": one.deleted,
        "reason": one.reason,
        "code": one.error.code if one.error else "",
    }
