"""Django application of the web server."""

from django.apps import AppConfig
from django.core.checks import register

from hub.checks import CHECKS, authority


class HubConfig(AppConfig):
    name = "hub"
    verbose_name = "Hub"

    def ready(self) -> None:
        for check in CHECKS:
            register(check, "hub")
        register(authority, "hub", deploy=True)
