"""Entry point of ``manage.py`` and of the installed ``hpcfair-hub`` command."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run a management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hub.settings.production")
    execute_from_command_line(sys.argv)
