"""Versions of the packages behind a backend."""

from collections.abc import Sequence
from importlib import metadata

from workers.engine.errors import BackendUnavailable


def versions(backend: str, packages: Sequence[str], install: str) -> dict[str, str]:
    """Package to version.

    Args:
        install: What ``pip install`` is to be told where one is missing.

    Raises:
        BackendUnavailable: one is missing; names it, and how to get it.
    """
    try:
        return {package: metadata.version(package) for package in packages}
    except metadata.PackageNotFoundError as error:
        raise BackendUnavailable(
            f"Backend {backend} needs the package {error.name}: pip install {install}"
        ) from error
