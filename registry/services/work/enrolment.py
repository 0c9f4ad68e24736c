"""Enrolment of machines as devices, and updates of their facts.

The agent sends a one-time code with the machine's facts and the public half of its key pair, and
receives a token, of which only the digest is stored.
"""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from registry.attestations.devicekey import public_pem
from registry.attestations.keys import keyid_of
from registry.errors import Conflict, Invalid
from registry.matching import fits
from registry.selectors.people.account import secret_digest
from registry.selectors.work.device import DEVICE_TOKEN_PREFIX, device_get
from registry.selectors.work.matching import capabilities, requirement_of_target
from registry.services.audit import audit
from registry.services.people.token import new_secret
from registry.services.work.catchup import plan_catch_up, plan_recheck
from registry.services.work.device import check_name
from registry.services.work.devicecode import device_code_spend, device_code_take
from registry.services.work.offence import offence_add
from registry.services.work.target import catch_up_due, target_of_facts
from registry.states import DeviceHealth, DeviceState
from registry.tables import Device, Target, User
from registry.validation.facts import check_facts, check_tools

#: Seconds by which the clock of a device may differ before its facts mention the difference.
_CLOCK_TOLERANCE_S = 60.0
_CLOCK = "clock_offset_s"


def device_enrol(
    *,
    code: str,
    name: str,
    facts: dict[str, Any],
    public_key: str,
    tools: dict[str, Any] | None = None,
    agent_version: str = "",
) -> tuple[Device, str]:
    """Enrol a machine; returns its device and its token, of which only the digest is stored.

    A machine that enrols again under its name and with its key gets a new token and keeps its
    state.

    Args:
        facts: As ``hpcfair.machine.describe()`` gives them.
        public_key: Ed25519 key in PEM, with which the device signs its reports.
        tools: Names and versions of its programs by backend, if they are known yet.

    Raises:
        NotFound: ``code_not_found``: unknown, used or expired.
        Invalid: ``invalid_name``; ``invalid_key``; ``invalid_facts``; ``invalid_target``: the
            machine does not fit the target of the code.
        Conflict: ``device_exists``: another device has the name or the key, or had it.
    """
    check_name(name)
    pem = _pem_of(public_key)
    checked_facts = check_facts(facts)
    columns: dict[str, Any] = {
        "facts": checked_facts,
        "tools": check_tools(tools or {}),
        "agent_version": agent_version[:40],
        "public_key": pem,
    }
    with transaction.atomic():
        ticket = device_code_take(code)
        target = ticket.target or target_of_facts(checked_facts)
        _require_fit(target, checked_facts)
        existing = _namesake(name, pem, ticket.owner)
        secret = new_secret(DEVICE_TOKEN_PREFIX)
        columns |= {
            "target": target,
            "owner": ticket.owner,
            "is_emulated": target.is_emulated,
            "token_hash": secret_digest(secret),
            "checked_at": None,
            "check_seed": None,
            # It becomes online with the first request `hello` of its agent.
            "health": DeviceHealth.OFFLINE,
        }
        device = _store(existing, name, columns)
        device_code_spend(ticket, device)
        is_new = existing is None
        detail = {"target": target.slug, "keyid": keyid_of(pem), "code": ticket.pk, "new": is_new}
        audit(ticket.owner, "device.enrol", name, detail=detail)
    return device, secret


def device_hello(
    *,
    device: Device,
    facts: dict[str, Any],
    tools: dict[str, Any],
    agent_version: str,
    clock: str | None = None,
) -> Device:
    """Store the facts that a device sends at the start of its agent. It is online afterwards.

    Searches are queued if it is the first device of its target that is online, and reproductions if
    its tools have changed.

    Args:
        clock: Its time in ISO 8601; only a large difference is stored, among its facts.

    Raises:
        Invalid: ``invalid_facts``: they are impossible, or of a machine that does not fit the
            target; the device is put into quarantine.
    """
    try:
        checked_facts = check_facts(facts)
        programs = check_tools(tools)
        _require_fit(device.target, checked_facts)
    except Invalid as error:
        offence_add(device, "", error)
        raise
    offset_s = _offset_s(clock)
    if offset_s is not None and abs(offset_s) > _CLOCK_TOLERANCE_S:
        checked_facts = checked_facts | {_CLOCK: round(offset_s)}
    is_first = catch_up_due(target_id=device.target_id)
    has_new_tools = device.tools != programs
    changes = _changes(device.facts, checked_facts)
    columns: dict[str, Any] = {
        "facts": checked_facts,
        "tools": programs,
        "agent_version": agent_version[:40],
        "health": DeviceHealth.ONLINE,
        "last_seen_at": timezone.now(),
    }
    if changes:
        # It may be another machine, so the health check is out of date.
        columns["checked_at"] = None
    with transaction.atomic():
        Device.objects.filter(pk=device.pk).update(**columns)
        if changes:
            audit(None, "device.change", device.name, detail=changes)
    if is_first and device.state == DeviceState.ACTIVE:
        plan_catch_up(target=device.target)
    if has_new_tools:
        plan_recheck(device=device)
    return device_get(device.name)


def _pem_of(public_key: str) -> str:
    try:
        return public_pem(public_key)
    except ValueError as error:
        raise Invalid(
            "invalid_key",
            f"The device's key cannot be read: {error}.",
            "Send an Ed25519 public key in PEM.",
        ) from error


def _require_fit(target: Target, facts: dict[str, Any]) -> None:
    fit = fits(capabilities(facts), requirement_of_target(target))
    if not fit.is_fit:
        raise Invalid(
            "invalid_target",
            f"The machine does not fit the target {target.slug}: it {fit.reason}.",
            "See `hpcfair targets detect` for the targets that it fits.",
        )


def _namesake(name: str, pem: str, owner: User | None) -> Device | None:
    """The device that enrols again, locked; ``None`` for a new one.

    Refuses a name or a key of another device, and those of one that was retired.
    """
    same_key = Device.objects.filter(public_key=pem).exclude(name=name).first()
    namesake = Device.objects.select_for_update(of=("self",)).filter(name=name).first()
    if namesake is not None and (
        namesake.state == DeviceState.RETIRED
        or namesake.public_key != pem
        or namesake.owner != owner
    ):
        raise _name_conflict(name)
    if same_key is not None:
        raise _key_conflict(same_key)
    return namesake


def _store(existing: Device | None, name: str, columns: dict[str, Any]) -> Device:
    """Store a device with these columns. If two machines take a free name or key at the same time,
    one of them gets it."""
    if existing is not None:
        Device.objects.filter(pk=existing.pk).update(**columns)
        return device_get(name)
    try:
        with transaction.atomic():
            return Device.objects.create(name=name, **columns)
    except IntegrityError as error:
        others = Device.objects.filter(public_key=columns["public_key"]).exclude(name=name)
        same_key = others.first()
        raise (_key_conflict(same_key) if same_key else _name_conflict(name)) from error


def _name_conflict(name: str) -> Conflict:
    return Conflict("device_exists", f"There is a device {name!r} already.", "Choose another name.")


def _key_conflict(device: Device) -> Conflict:
    return Conflict(
        "device_exists",
        f"This key belongs to the device {device.name}.",
        "Use its name, or remove the agent's key file so that it makes a new key.",
    )


def _changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Changed facts that distinguish machines: name of the fact to ``[before, after]``."""
    names = ("architecture", "processor", "features", "cores", "memory_bytes")
    return {
        name: [before.get(name), after.get(name)]
        for name in names
        if before.get(name) != after.get(name)
    }


def _offset_s(clock: str | None) -> float | None:
    """Seconds by which a clock is ahead of the hub's; ``None`` if it is unknown or malformed."""
    try:
        time = parse_datetime(clock or "")
    except ValueError:
        return None
    if time is None or time.tzinfo is None:
        return None
    return (time - timezone.now()).total_seconds()
