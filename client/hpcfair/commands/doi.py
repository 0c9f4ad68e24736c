"""Registration of DOIs for versions."""

from typing import Annotated

import typer

from hpcfair.commands.files import Name
from hpcfair.commands.hub import client_of
from hpcfair.commands.jobs import document_of
from hpcfair.commands.output import Json, emit_json

Option = typer.Option


def doi(
    context: typer.Context,
    name: Name,
    revision: Annotated[str | None, Option(help="Branch, tag or commit id.")] = None,
    wait: Annotated[bool, Option(help="Wait until it is registered.")] = True,
    as_json: Json = False,
) -> None:
    """Register a DOI for a version of a model. It cannot be withdrawn."""
    job = client_of(context).register_doi(name, revision=revision)
    if wait:
        job.wait()
    if as_json:
        emit_json(document_of(job))
    else:
        typer.echo(f"https://doi.org/{job.result['doi']}" if job.result else job.state)
