"""Django looks for its tables under this name; they live in :mod:`registry.tables`."""

from registry.tables import *  # noqa: F403
