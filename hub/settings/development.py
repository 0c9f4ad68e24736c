"""Settings for development: tracebacks in the browser, static files from the tree."""

from hub.settings.base import *  # noqa: F403

DEBUG = True
SECRET_KEY = "development-only"  # noqa: S105
