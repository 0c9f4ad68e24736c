"""Commands for devices: list them, change their state, issue codes."""

from typing import Annotated

import typer

from hpcfair import device as fleet
from hpcfair.commands.hub import client_of
from hpcfair.commands.output import Json, emit_json, emit_pairs, emit_table, say
from hpcfair.device import Device, DeviceState

Name = Annotated[str, typer.Argument(help="Name of the device.")]
Reason = Annotated[str, typer.Option(help="Reason, shown on its page and in the audit log.")]

app = typer.Typer(
    no_args_is_help=True, help="List the machines that work for the hub, and change their state."
)


@app.command("list")
def list_(context: typer.Context, as_json: Json = False) -> None:
    """List devices by name."""
    rows = list(fleet.devices(client_of(context).http))
    if as_json:
        emit_json(rows)
        return
    emit_table(
        ("device", "target", "state", "health", "owner", "reason"),
        ((d.name, d.target, d.state, d.health, d.owner, d.reason) for d in rows),
    )


@app.command()
def show(context: typer.Context, name: Name, as_json: Json = False) -> None:
    """Show a device with its tools."""
    _show(fleet.device(client_of(context).http, name), as_json=as_json)


@app.command()
def drain(context: typer.Context, name: Name, reason: Reason = "", as_json: Json = False) -> None:
    """Let a device end its job and get no more."""
    _change(context, name, "draining", reason, as_json=as_json)


@app.command()
def resume(context: typer.Context, name: Name, reason: Reason = "", as_json: Json = False) -> None:
    """Let a device get jobs again."""
    _change(context, name, "active", reason, as_json=as_json)


@app.command()
def maintenance(
    context: typer.Context, name: Name, reason: Reason = "", as_json: Json = False
) -> None:
    """Give a device no jobs until it is resumed."""
    _change(context, name, "maintenance", reason, as_json=as_json)


@app.command()
def quarantine(
    context: typer.Context, name: Name, reason: Reason = "", as_json: Json = False
) -> None:
    """Queue the jobs of a device again, and refuse its results. For operators."""
    _change(context, name, "quarantined", reason, as_json=as_json)


@app.command()
def retire(context: typer.Context, name: Name, reason: Reason = "", as_json: Json = False) -> None:
    """Retire a device for good: its token ends."""
    _change(context, name, "retired", reason, as_json=as_json)


@app.command()
def code(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Option(help="Target; by default that of the machine's processor.")
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Owner of the device; by default you.")] = None,
    as_json: Json = False,
) -> None:
    """Issue a one-time code by which a machine joins. For operators."""
    client = client_of(context)
    secret = fleet.device_code(client.http, target=target, owner=owner)
    if as_json:
        emit_json({"code": secret})
        return
    typer.echo(secret)
    url = client.http.config.url
    say(f"On the machine, within an hour: hpcfair-agent join {secret} --hub {url}")


def _change(
    context: typer.Context, name: str, state: DeviceState, reason: str, *, as_json: bool
) -> None:
    changed = fleet.device_change(client_of(context).http, name, state, reason)
    if as_json:
        emit_json(changed)
    else:
        say(f"{changed.name} is {changed.state}.")


def _show(device: Device, *, as_json: bool) -> None:
    if as_json:
        emit_json(device)
        return
    emit_pairs(
        [
            ("device", device.name),
            ("target", device.target + (" (emulated)" if device.is_emulated else "")),
            ("owner", device.owner),
            ("state", device.state),
            ("reason", device.reason),
            ("health", device.health),
            ("seen", device.last_seen_at),
            ("processor", device.facts.get("processor")),
            ("backends", ", ".join(sorted(device.tools))),
            ("agent", device.agent_version),
        ]
    )
