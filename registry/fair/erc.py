"""What an ARK answers when it is asked about itself (``?info``): a record and a promise, as text.

An Electronic Resource Citation (draft-kunze-ark-41): who made what when, and where it is; then who
promises what of it since when, and where one reads more.
"""

from datetime import datetime

from registry.fair.description import Description

#: Plain text on purpose: it shall be readable when nothing else is.
MEDIA_TYPE = "text/plain; charset=utf-8"

_PROMISES = {
    True: "Permanent: the files that this names never change, and it never names anything else.",
    False: "Permanent: this names all versions together and leads to the newest; it never names "
    "anything else.",
}


def render(description: Description, *, pid: str, minted: datetime) -> bytes:
    """The record of what ``pid`` names, and what its hub promises of it.

    Args:
        description: Of the version; of the newest, where ``pid`` names all together.
        pid: The identifier as an address.
    """
    hub = description.hub
    people = "; ".join(one.name.replace(";", ",") for one in description.creators)
    lines = [
        "erc:",
        _line("who", people or description.owner.name),
        _line("what", description.title),
        _line("when", _day(description.published)),
        _line("where", pid),
        "erc-support:",
        _line("who", hub.publisher.name),
        _line("what", _promise(description, pid)),
        _line("when", _day(minted)),
        _line("where", hub.policy_url),
    ]
    return ("\n".join(lines) + "\n").encode()


def _promise(description: Description, pid: str) -> str:
    withdrawal = description.withdrawal
    if withdrawal is None:
        return _PROMISES[pid == description.pid]
    why = f" ({withdrawal.reason})" if withdrawal.reason else ""
    return f"Withdrawn {_day(withdrawal.at)}{why}: the record stays, the files are gone."


def _line(label: str, value: str) -> str:
    """One element; a value fits on its line, so that none can pass for the next element."""
    return f"{label + ':':<8}{' '.join(value.split())}"


def _day(value: datetime) -> str:
    """A date as TEMPER has it: ``YYYYMMDD``."""
    return value.strftime("%Y%m%d")
