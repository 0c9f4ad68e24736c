"""Leaves out backends that cannot work on this machine before a search: they cost no trial."""

from collections.abc import Collection, Iterable, Mapping

from workers.device.ports import JobDevice

#: Backends that this process has seen working: name, versions of its packages, and kind of the
#: network. Importing libraries takes seconds.
_WORKING: set[tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]] = set()


def faults_of(
    device: JobDevice,
    names: Iterable[str],
    toolchain: Mapping[str, Mapping[str, str]],
    kind: Collection[str],
) -> dict[str, str]:
    """Backends that can build or open nothing of the device's network here, with the reason.

    Args:
        names: Backends to look at.
        toolchain: Backend to names and versions of its packages.
        kind: Facts of the network by which backends refuse it, such as its formats.
    """
    faults: dict[str, str] = {}
    for name in names:
        key = name, tuple(sorted(toolchain[name].items())), tuple(sorted(kind))
        if key in _WORKING:
            continue
        if fault := device.fault_of(name):
            faults[name] = fault
        else:
            _WORKING.add(key)
    return faults
