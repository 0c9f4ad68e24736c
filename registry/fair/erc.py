"""Answers of ARKs to ``?info``: an Electronic Resource Citation (draft-kunze-ark-41) as text, with
a citation of the resource and the hub's persistence statement."""

from datetime import datetime

from registry.fair.ark import TEST_NOTE, is_test
from registry.fair.description import Description

MEDIA_TYPE = "text/plain; charset=utf-8"

#: Code of the ERC kernel for an unavailable, possibly unknown value.
_UNAVAILABLE = "(:unav)"
_STATEMENTS = {
    True: "Never reassigned. The identified files never change; if they are withdrawn or deleted "
    "under the policy, the record is kept.",
    False: "Never reassigned. Identifies all versions together and resolves to the newest.",
}


def render(description: Description, *, pid: str, minted: datetime) -> bytes:
    """The citation and persistence statement of the identifier ``pid``, an address. ``description``
    is of the version, or of the newest one if ``pid`` identifies all versions."""
    hub = description.hub
    people = "; ".join(one.name.replace(";", ",") for one in description.creators)
    lines = [
        "erc:",
        _line("who", people or _UNAVAILABLE),
        _line("what", description.title),
        _line("when", _day(description.published)),
        _line("where", pid),
        "erc-support:",
        _line("who", hub.publisher.name),
        _line("what", _statement(description, pid) + (f" {TEST_NOTE}" if is_test(pid) else "")),
        _line("when", _day(minted)),
        _line("where", hub.policy_url),
    ]
    return ("\n".join(lines) + "\n").encode()


def _statement(description: Description, pid: str) -> str:
    withdrawal = description.withdrawal
    if withdrawal is None:
        return _STATEMENTS[pid == description.pid]
    why = f" ({withdrawal.reason})" if withdrawal.reason else ""
    return f"Withdrawn {_day(withdrawal.at)}{why}: the record is kept, the files are deleted."


def _line(label: str, value: str) -> str:
    """One element. The value is put on one line, so that it cannot imitate another element."""
    return f"{label + ':':<8}{' '.join(value.split())}"


def _day(value: datetime) -> str:
    """A TEMPER date, ``YYYYMMDD``."""
    return value.strftime("%Y%m%d")
