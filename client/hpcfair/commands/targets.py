"""Commands for targets: those of the hub, and those of this machine."""

from dataclasses import asdict

import typer

from hpcfair import machine
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table, say

app = typer.Typer(help="List the targets that the hub tunes for, or describe this machine.")


@app.callback(invoke_without_command=True)
def targets(context: typer.Context, as_json: Json = False) -> None:
    """List the targets of the hub and mark the one of this machine."""
    if context.invoked_subcommand is not None:
        return
    rows = client_of(context).targets()
    own = machine.target_slug(machine.describe())
    if as_json:
        emit_json({"targets": rows, "this_machine": own})
        return
    emit_table(
        ("target", "what", "enabled", "here"),
        (
            (
                target.slug,
                target.title,
                "yes" if target.enabled else "no",
                "this machine" if target.slug == own else "",
            )
            for target in rows
        ),
    )
    if own not in {target.slug for target in rows}:
        say(f"This machine is {own}, which the hub does not know.")


@app.command()
def detect(as_json: Json = False) -> None:
    """Describe this machine and the targets that it can serve; needs no hub.

    With --json the output can be registered on a hub: manage.py target --import FILE.
    """
    described = machine.describe()
    definitions = machine.targets_of(described)
    if as_json:
        emit_json(
            {"machine": described.to_dict(), "targets": [asdict(each) for each in definitions]}
        )
        return
    memory = described.memory_bytes
    emit_pairs(
        [
            ("processor", described.processor),
            ("architecture", described.architecture),
            ("emulated", "yes" if described.is_emulated else "no"),
            ("cores", described.cores),
            ("memory", f"{memory / 2**30:.1f} GiB" if memory else None),
            ("system", f"{described.os}, {described.kernel}"),
            ("features", " ".join(described.features)),
            ("accelerators", ", ".join(gpu.name for gpu in described.accelerators)),
        ]
    )
    typer.echo("")
    emit_table(
        ("target", "what", "rank", "needs"),
        ((each.slug, each.title, each.rank, " ".join(each.features)) for each in definitions),
    )
