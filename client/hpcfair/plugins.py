"""Table entries that other packages add by entry points (Python packaging's plug-in mechanism)."""

from collections.abc import Container
from importlib import metadata
from typing import TypeVar

_Entry = TypeVar("_Entry")


def load_entries(
    group: str, kind: type[_Entry], built_in: Container[str]
) -> tuple[dict[str, _Entry], dict[str, str]]:
    """Load all entry points of a group. Broken ones are reported and do not affect others.

    Args:
        group: Name of the entry points' group, such as ``hpcfair.runtimes``.
        kind: Class that the objects must be instances of.
        built_in: Names that cannot be replaced.

    Returns:
        Objects by name, and a sentence for each entry point that cannot be used: by its name, or
        by ``name (distribution)`` where another entry of that name is used.
    """
    entries: dict[str, _Entry] = {}
    problems: dict[str, str] = {}
    points = metadata.entry_points(group=group)
    # Sorted, so that of two packages with the same name the same one is used each time.
    for point in sorted(points, key=lambda point: (point.name, _distribution(point))):
        origin = f"{point.name} ({_distribution(point)})"
        if point.name in built_in or point.name in entries:
            problems[origin] = f"{origin} is ignored: the name is taken."
            continue
        try:
            entry = point.load()
        # Importing another package's module can raise anything.
        except Exception as error:  # noqa: BLE001
            reason = f"{type(error).__name__}: {error}"
            problems[point.name] = f"{origin} cannot be loaded from {point.value}: {reason}."
            continue
        if isinstance(entry, kind):
            entries[point.name] = entry
        else:
            expected = f"{kind.__module__}.{kind.__qualname__}"
            problems[point.name] = f"{origin} is no {expected}: {point.value}."
    return entries, problems


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else "unknown package"
