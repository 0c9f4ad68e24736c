"""Devices of the hub: their state, and one-time codes by which machines join."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from hpcfair.fromjson import FromJson
from hpcfair.transport import Transport, pages, quoted

DeviceState = Literal["active", "draining", "maintenance", "quarantined", "retired"]


@dataclass(frozen=True, slots=True)
class Device(FromJson):
    """A machine that does jobs of a target.

    Attributes:
        owner: Name of its owner; ``None`` for the hub's own workers.
        health: Whether it reports: ``online``, ``suspect`` or ``offline``.
        state: Set by people or by the hub; only ``active`` devices get jobs.
        reason: Why it is in its state.
        facts: Description of the machine.
        tools: Its backends, with names and versions of their programs.
        run_s: Total seconds of its attempts.
    """

    name: str
    target: str
    owner: str | None = None
    health: str = ""
    state: str = "active"
    reason: str = ""
    is_emulated: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Any] = field(default_factory=dict)
    agent_version: str = ""
    failures_in_row: int = 0
    run_s: float = 0.0
    last_seen_at: str | None = None


def devices(http: Transport) -> Iterator[Device]:
    """All devices, by name."""
    return (Device.from_json(item) for item in pages(http, "/api/v1/devices"))


def device(http: Transport, name: str) -> Device:
    """The device of that name. Raises ``NotFound``."""
    return Device.from_json(http.get(f"/api/v1/devices/{quoted(name)}"))


def device_change(http: Transport, name: str, state: DeviceState, reason: str = "") -> Device:
    """Drain, resume, maintain, quarantine or retire a device.

    Raises ``Forbidden`` unless you own it or operate the hub; ``Conflict`` if its present
    state permits no such change.
    """
    body = {"state": state, "reason": reason}
    return Device.from_json(http.json("PATCH", f"/api/v1/devices/{quoted(name)}", body=body))


def device_code(http: Transport, *, target: str | None = None, owner: str | None = None) -> str:
    """A one-time code by which a machine joins within an hour.

    Args:
        target: Slug of its target; by default that of the machine's processor.
        owner: Owner of the device; by default you.

    Raises ``Forbidden`` unless you operate the hub.
    """
    body = {"target": target, "owner": owner}
    return str(http.post("/api/v1/device-codes", body)["code"])
