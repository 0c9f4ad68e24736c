"""``hpcfair-agent bundle``: jobs for a device without a network, carried as files."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from hpcfair.commands.output import Json, emit_json
from workers.agent import statefolder
from workers.agent.exitstatus import JOBS_LEFT
from workers.agent.options import ChildMemory, Isolation, settings_of
from workers.agent.stop import Stop
from workers.device.isolation import require_isolation

Option = typer.Option

app = typer.Typer(
    no_args_is_help=True,
    help="Do jobs from a file, on a machine without a network.",
)


@app.command()
def identify(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    name: Annotated[str | None, Option(help="Name of the device; else that of the host.")] = None,
    target: Annotated[
        str | None, Option(help="Target to serve; else that of the processor.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a file that identifies this device, with which an operator enrols it."""
    from workers.agent.bundle.identity import write_identity  # noqa: PLC0415  heavy

    with statefolder.locked(context.obj):
        key = write_identity(out, context.obj, name=name, target=target)
    if as_json:
        emit_json({"path": out, "keyid": key.keyid})
        return
    typer.echo(f"Carry it to the hub: manage.py bundle enrol {out.name}")
    typer.echo(f"The id of this device's key is {key.keyid}")


@app.command()
def run(
    context: typer.Context,
    bundle: Annotated[Path, typer.Argument(help="The file that the hub exported.")],
    out: Annotated[Path, typer.Argument(help="The file of the results, for the hub.")],
    trust: Annotated[
        str | None, Option(metavar="KEYID", help="Trust the hub's key of this id from now on.")
    ] = None,
    seconds: Annotated[
        float | None,
        Option(
            min=0,
            help="Seconds of this run; jobs that are expected to take longer than the rest wait.",
        ),
    ] = None,
    drain_s: Annotated[
        float, Option(min=0, help="Seconds that a job has after a first SIGTERM.")
    ] = 30.0,
    finish: Annotated[
        bool, Option("--finish", help="Hand back the jobs that this run does not finish.")
    ] = False,
    child_memory_mib: ChildMemory = 8192,
    isolation: Isolation = "rlimits",
    as_json: Json = False,
) -> None:
    """Do the jobs of a bundle and write the signed results.

    After an interruption, the same command continues.
    """
    from workers.agent.bundle.run import BundleRun, run_bundle  # noqa: PLC0415  heavy

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    state: Path = context.obj
    settings = settings_of(state, child_memory_mib, isolation)
    with (
        statefolder.locked(state),
        Stop(drain_s=drain_s, ends_in_s=seconds) as stop,
    ):
        require_isolation(settings)
        jobs_left = run_bundle(BundleRun(bundle, out, state, trust, finish), settings, stop)
    if as_json:
        emit_json({"path": None if jobs_left else out, "jobs_left": jobs_left})
    elif jobs_left:
        jobs = "1 job is" if jobs_left == 1 else f"{jobs_left} jobs are"
        typer.echo(f"{jobs} left: run the command again, or add --finish to hand back the rest.")
    else:
        typer.echo(f"Carry the results to the hub: manage.py bundle import {out.name}")
    if jobs_left:
        raise typer.Exit(JOBS_LEFT)
