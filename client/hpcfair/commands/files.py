"""Commands for downloading and publishing."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hpcfair.client import Client
from hpcfair.commands.argumentorder import require_path
from hpcfair.commands.completion import complete_name
from hpcfair.commands.hub import client_of
from hpcfair.commands.modelnames import remember_name
from hpcfair.commands.output import Json, emit_json, say
from hpcfair.errors import NotFound
from hpcfair.modelbundle.source import is_bundle
from hpcfair.publish import Publication
from hpcfair.types import Finding

Option = typer.Option
Name = Annotated[
    str,
    typer.Argument(help="namespace/name", autocompletion=complete_name, callback=remember_name),
]
Pulled = Annotated[
    str,
    typer.Argument(
        help="namespace/name, ark:..., doi:..., or x.hpcfair",
        autocompletion=complete_name,
        callback=remember_name,
    ),
]
Revision = Annotated[str | None, Option(help="Branch, tag or commit id.")]


def pull(
    context: typer.Context,
    name: Pulled,
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to write; default: ./<name>.")
    ] = None,
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Copy the files of a model into a folder."""
    client = client_of(context)
    if folder is not None:
        require_path("pull", folder, name)
    if is_bundle(name):
        place = folder or Path(Path(name).stem)
    else:
        name, revision = client.locate(name, revision=revision)
        place = folder or Path(name.partition("/")[2])
    commit = client.pull(name, place, revision=revision)
    if as_json:
        emit_json({"folder": place, "revision": commit})
    else:
        say(f"{name} at {commit.oid[:12]}: {len(commit.files)} files in {place}.")


def push(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="An ONNX file, or a folder.")],
    name: Name,
    license: Annotated[
        str | None, Option(help="SPDX id; required unless README.md has it.")
    ] = None,
    title: Annotated[str | None, Option(help="Title of the card.")] = None,
    description: Annotated[str | None, Option(help="First paragraph of a new card.")] = None,
    task: Annotated[str | None, Option(help="Task, such as image-classification.")] = None,
    tag: Annotated[
        list[str] | None, Option(help="Tag of the card. May be given several times.")
    ] = None,
    message: Annotated[str, Option("--message", "-m", help="What changed, for the history.")] = "",
    branch: Annotated[str, Option(help="Branch; created if it does not exist.")] = "main",
    private: Annotated[
        bool | None,
        Option(
            "--private/--public", help="Visibility of a new model; by default as its owner has set."
        ),
    ] = None,
    wait: Annotated[bool, Option(help="Wait for the hub's inspection.")] = True,
    as_json: Json = False,
) -> None:
    """Publish a model file or a folder, and print findings in its README.md."""
    require_path("push", path, name)
    values: dict[str, Any] = {
        "license": license,
        "title": title,
        "description": description,
        "task": task,
        "tags": tag or None,
    }
    how: Publication = {
        "card": {key: value for key, value in values.items() if value is not None},
        "message": message,
        "branch": branch,
        "wait": wait,
    }
    if private is not None:
        how["visibility"] = "private" if private else "public"
    client = client_of(context)
    saved = client.save(path, name, **how)
    findings = _findings(client, name, saved.oid)
    if as_json:
        emit_json({**asdict(saved), "findings": findings})
        return
    for finding in findings:
        say(str(finding))
    say(f"{name} is at {saved.oid[:12]}: {client.config.url}/{name}")


def _findings(client: Client, name: str, revision: str) -> list[Finding]:
    try:
        return list(client.findings(name, revision=revision))
    except NotFound:
        # An older hub has no findings; the push succeeded nevertheless.
        return []
