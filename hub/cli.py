"""Entry point of ``manage.py`` and of the installed ``hpcfair-hub`` command."""

import os
import sys

from django.core.management import execute_from_command_line

from hub.garbage import collect_rarely


def main() -> None:
    """Run a management command."""
    collect_rarely()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.production")
    execute_from_command_line(sys.argv)
