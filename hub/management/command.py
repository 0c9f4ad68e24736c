"""What operators' commands have in common."""

from django.core.management.base import BaseCommand


class OperatorCommand(BaseCommand):
    """A command that checks the hub's configuration before it runs.

    Django's other checks are about the code, and ``make check`` runs them. They import all views,
    which takes most of the processor time of a short command.
    """

    requires_system_checks = ["hub"]
