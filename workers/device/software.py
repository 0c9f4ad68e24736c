"""Versions of this software, which records of measurements name."""

from importlib.metadata import PackageNotFoundError, version

#: Distributions that contain this module: that of the hub, and that of devices without a hub.
_DISTRIBUTIONS = ("hpcfair-hub", "hpcfair-agent")


def own_versions() -> dict[str, str]:
    """Installed distributions with their versions; empty in a source tree."""
    versions: dict[str, str] = {}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
