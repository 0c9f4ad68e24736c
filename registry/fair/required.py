"""What people must say of a version before its record is complete."""

from registry.fair.description import Description

#: Characters; shorter ones tell nobody what a thing is, and catalogues refuse them.
MIN_DESCRIPTION = 50


def missing(description: Description) -> tuple[str, ...]:
    """Fields of :class:`Description` that the served shape demands and this record has not.

    All else that :mod:`registry.fair.linked.shape` demands, the hub knows by itself.
    """
    is_said = {
        "description": len(description.description or "") >= MIN_DESCRIPTION,
        "creators": bool(description.creators),
        "license": description.license is not None and bool(description.license.uris),
        "task": description.kind != "model" or bool(description.task),
    }
    return tuple(name for name, said in is_said.items() if not said)
