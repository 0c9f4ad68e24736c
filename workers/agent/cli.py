"""The ``hpcfair-agent`` command.

What does jobs is imported by the commands that do them: it takes longer than the other commands.
"""

import logging
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hpcfair import errors
from hpcfair.commands.exitstatus import summary
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table
from hpcfair.isolation.sandbox import LEVELS
from workers.agent import statefolder
from workers.agent.board import Board, BoardOptions
from workers.agent.bundle.command import app as bundle_app
from workers.agent.connection import HubConnection, agent_version
from workers.agent.devicekey import DeviceKey
from workers.agent.enrolment import Enrolment, checked_hub
from workers.agent.exitstatus import EXIT_STATUSES, FAILURE
from workers.agent.failures import ReportingCommands
from workers.agent.options import ChildMemory, Isolation, settings_of
from workers.agent.statefolder import StateInUse, default_state, require_own
from workers.agent.status import status_of
from workers.fleet.probe import served_machine

_MIB = 2**20
Option = typer.Option


def _version(shows_version: bool) -> None:
    if shows_version:
        typer.echo(agent_version())
        raise typer.Exit


app = typer.Typer(
    cls=ReportingCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Let this machine work for a hub: it tunes, measures and reproduces builds. It connects "
    "to the hub by HTTPS, listens on no port, and does not update itself.",
    epilog=summary(EXIT_STATUSES),
)


@app.callback()
def _main(
    context: typer.Context,
    state: Annotated[
        Path | None,
        Option(
            envvar="HPCFAIR_AGENT_STATE",
            help="Folder of identity, journal and cache; /var/lib/hpcfair-agent for root.",
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001  handled by its callback
        bool, Option("--version", callback=_version, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    folder = (state or default_state()).absolute()
    require_own(folder)
    context.obj = folder


@app.command()
def join(
    context: typer.Context,
    code: Annotated[str, typer.Argument(help="One-time code of the hub; - reads it from stdin.")],
    hub: Annotated[str, Option(envvar="HPCFAIR_URL", help="Address of the hub.")],
    name: Annotated[str | None, Option(help="Name of the device; else that of the host.")] = None,
    facts: Annotated[
        Path | None, Option(help="Description of a device that only runs TVM's RPC server.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make this machine a device of a hub. It gets a token and a key pair of its own."""
    state: Path = context.obj
    address = checked_hub(hub)
    with statefolder.locked(state):
        if (state / "device.json").exists():
            raise StateInUse(f"{state} belongs to a device. Run `hpcfair-agent leave` first.")
        board = Board.read(facts) if facts else None
        body = {
            "code": (sys.stdin.readline() if code == "-" else code).strip(),
            "name": name or socket.gethostname(),
            "facts": board.facts if board else served_machine().spec.facts,
            "public_key": DeviceKey.in_folder(state).public_pem,
        }
        with HubConnection(address) as connection:
            answer = connection.post("enrol", body)
        enrolment = Enrolment(
            hub=address,
            device=str(answer["device"]),
            token=str(answer["token"]),
            hub_key=str(answer.get("hub_key") or ""),
            heartbeat_s=float(answer["heartbeat_s"]),
            poll_s=float(answer["poll_s"]),
        )
        if board:
            board.store(state)
        enrolment.write(state)
    if as_json:
        emit_json({"device": enrolment.device, "hub": address})
    else:
        typer.echo(f"{enrolment.device} is a device of {address}. Start it: hpcfair-agent run")


@app.command()
def run(
    context: typer.Context,
    slurm: Annotated[
        bool, Option("--slurm", help="End before the allocation of this Slurm job ends.")
    ] = False,
    idle_s: Annotated[
        float | None, Option(min=0, help="End after this many seconds without a job.")
    ] = None,
    drain_s: Annotated[
        float | None,
        Option(min=0, help="Seconds that a job has after a first SIGTERM; 60, or 0 with --slurm."),
    ] = None,
    margin_s: Annotated[
        float, Option(min=0, help="With --slurm: seconds kept free at the end of the allocation.")
    ] = 60.0,
    cache_mib: Annotated[
        int, Option(envvar="HPCFAIR_AGENT_CACHE_MIB", min=0, help="MiB of files to keep.")
    ] = 20_480,
    rpc_port: Annotated[
        int | None,
        Option(min=1, max=65535, help="Port of TVM's RPC server on the device's loopback."),
    ] = None,
    rpc_tunnel: Annotated[
        str | None, Option(metavar="HOST", help="Reach that port through an SSH tunnel to HOST.")
    ] = None,
    rpc_key: Annotated[
        str, Option(help="The port is that of a tracker: use its servers with this key.")
    ] = "",
    child_memory_mib: ChildMemory = 8192,
    isolation: Isolation = LEVELS[0],
    as_json: Json = False,
) -> None:
    """Claim jobs and do them until a signal, the end of the allocation, or idleness ends it."""
    from workers.agent import service  # noqa: PLC0415  heavy

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    state: Path = context.obj
    jobs = service.serve(
        state,
        settings_of(state, child_memory_mib, isolation),
        service.ServiceOptions(
            in_slurm=slurm,
            idle_s=idle_s,
            drain_s=drain_s,
            margin_s=margin_s,
            cache_bytes=cache_mib * _MIB,
            board=BoardOptions(rpc_port, rpc_tunnel, rpc_key) if rpc_port else None,
        ),
    )
    if as_json:
        emit_json({"jobs": jobs})


@app.command()
def status(context: typer.Context, as_json: Json = False) -> None:
    """Show which device this is, whether its agent runs, and what the hub has not confirmed."""
    document = status_of(context.obj)
    if as_json:
        emit_json(document)
    else:
        emit_pairs([(name.replace("_", " "), value) for name, value in document.items()])


@app.command()
def health(
    context: typer.Context,
    child_memory_mib: ChildMemory = 8192,
    isolation: Isolation = LEVELS[0],
    as_json: Json = False,
) -> None:
    """Check whether this machine can do jobs, as the hub's health check does. Needs no hub."""
    from workers.device.health import machine_checks  # noqa: PLC0415  heavy

    settings = settings_of(context.obj, child_memory_mib, isolation)
    checks = list(machine_checks(settings, served_machine()))
    if as_json:
        emit_json([check.as_json() for check in checks])
    else:
        rows: list[tuple[Any, ...]] = [
            (check.name, "ok" if check.is_ok else "failed", check.detail) for check in checks
        ]
        emit_table(("check", "", "seen"), rows)
    if not all(check.is_ok for check in checks):
        raise typer.Exit(FAILURE)


@app.command()
def leave(
    context: typer.Context,
    force: Annotated[
        bool, Option("--force", help="Delete token and key even if the hub does not answer.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Retire the device at the hub, and delete its token, key, journal and cache here."""
    state: Path = context.obj
    with statefolder.locked(state):
        enrolment = Enrolment.read(state)
        try:
            with HubConnection.of(enrolment) as connection:
                connection.post("leave", {})
        except (errors.Unauthenticated, errors.Forbidden):
            typer.echo("The hub has already retired this device.", err=True)
        except (errors.HubError, errors.HubUnreachable):
            if not force:
                raise
        statefolder.clear(state)
    if as_json:
        emit_json({"device": enrolment.device, "hub": enrolment.hub})
    else:
        typer.echo(f"{enrolment.device} has left {enrolment.hub}.")


app.add_typer(bundle_app, name="bundle")


def main() -> None:
    """Run the command."""
    app()
