"""``manage.py user NAME``: creates an account or a token."""

import argparse
import getpass
import json
import os
import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry.errors import RegistryError
from registry.selectors.people.account import user_find
from registry.services.people.account import user_create
from registry.services.people.token import token_issue
from registry.states import Scope


class Command(BaseCommand):
    help = (
        "Create an account. The password is HPCFAIR_PASSWORD or prompted for. With --token a "
        "token is issued, also for an existing account, and printed as JSON."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--email", default="")
        parser.add_argument("--full-name", default="")
        parser.add_argument("--staff", action="store_true", help="may manage targets and devices")
        parser.add_argument("--token", action="store_true", help="issue a token and print it")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.WRITE.value)

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            user = user_find(options["name"]) or user_create(
                username=options["name"],
                password=self._password(ask=not options["token"]),
                email=options["email"],
                full_name=options["full_name"],
                is_staff=options["staff"],
            )
            if not options["token"]:
                self.stdout.write(f"{user.username} can sign in now")
                return
            secret = token_issue(actor=user, name="command line", scope=Scope(options["scope"]))[1]
        except RegistryError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps({"name": user.username, "token": secret}))

    def _password(self, *, ask: bool) -> str:
        password = os.environ.get("HPCFAIR_PASSWORD")
        if password:
            return password
        # An account that is used by token needs no known password.
        return getpass.getpass("Password: ") if ask else secrets.token_urlsafe(24)
