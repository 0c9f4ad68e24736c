"""Django application of the web server."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.backends.signals import connection_created

from hub.checks import CHECKS, authority, connections, mail
from hub.database import watch_queries


class HubConfig(AppConfig):
    name = "hub"
    verbose_name = "Hub"

    def ready(self) -> None:
        for check in CHECKS:
            register(check, "hub")
        register(authority, "hub", deploy=True)
        register(connections, "hub", deploy=True)
        register(mail, "hub", deploy=True)
        connection_created.connect(watch_queries)
