"""Commands for profiles of other tools."""

from pathlib import Path
from typing import Annotated

import typer

from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table
from hpcfair.commands.run import Name, Revision
from hpcfair.importedprofile import ImportedProfile

Option = typer.Option
app = typer.Typer(
    no_args_is_help=True, help="Import profiles that other tools measured, matched to a network."
)


@app.command("import")
def import_profile(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Profile that the tool wrote.")],
    name: Name,
    target: Annotated[str, Option(help="The machine, as a target of the hub or in words.")],
    format: Annotated[  # noqa: A002 - the name of the option
        str, Option(help="onnxruntime, openvino, tensorrt or nsight; default: by content.")
    ] = "",
    details: Annotated[Path | None, Option(help="Second file: trtexec --exportLayerInfo.")] = None,
    tool_version: Annotated[str, Option(help="Version of the tool.")] = "",
    environment: Annotated[
        str, Option(help="How it was measured: driver, clocks, threads, batch.")
    ] = "",
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Import a profile. Profiles of other networks and impossible times are refused."""
    result = client_of(context).profiles_import(
        name,
        file,
        target=target,
        format=format,
        details=details,
        tool_version=tool_version,
        environment=environment,
        revision=revision,
    )
    if as_json:
        emit_json(result)
    else:
        _show(result)


@app.command("list")
def list_(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """List the imported profiles of a model."""
    rows = client_of(context).profiles(name)
    if as_json:
        emit_json(rows)
        return
    columns = ("profile", "format", "target", "run", "measured by")
    emit_table(
        columns,
        [(row.uuid, row.format, row.target, _ms(row.total_ns), row.actor or "") for row in rows],
    )


@app.command()
def show(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(help="Id of the profile.")],
    as_json: Json = False,
) -> None:
    """Show an imported profile."""
    row = client_of(context).profile(uuid)
    if as_json:
        emit_json(row)
    else:
        _show(row)


@app.command()
def delete(
    context: typer.Context,
    uuid: Annotated[str, typer.Argument(help="Id of the profile.")],
    as_json: Json = False,
) -> None:
    """Delete an imported profile."""
    client_of(context).profile_delete(uuid)
    if as_json:
        emit_json({"uuid": uuid, "deleted": True})


def _show(row: ImportedProfile) -> None:
    totals = row.totals
    coverage = totals.get("coverage", {})
    emit_pairs([
        ("profile", row.uuid),
        ("format", row.format),
        ("target", row.target),
        ("measured by", f"{row.actor or 'a deleted account'}, not by the hub"),
        ("run", _ms(row.total_ns)),
        ("calls linked", f"{totals['linked']} of {totals['count']}" if totals else ""),
        (
            "nodes",
            f"{coverage['exact']} exact, {coverage['inferred']} inferred, "
            f"{coverage['shared']} shared, {coverage['folded']} folded"
            if coverage
            else "",
        ),
        ("notes", " ".join(row.notes)),
    ])  # fmt: skip


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f} ms"
