"""``manage.py user NAME``: creates an account or a token, and helps those who forgot a password."""

import argparse
import getpass
import json
import os
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.management.base import CommandError
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode

from hub.management.command import OperatorCommand
from registry.errors import RegistryError
from registry.selectors.people.account import user_find
from registry.services.people.account import staff_set, user_create
from registry.services.people.token import token_issue
from registry.states import Scope
from registry.tables import User


class Command(OperatorCommand):
    help = (
        "Create an account. The password is HPCFAIR_PASSWORD or prompted for. The other options "
        "also work for an existing account."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--email", default="")
        parser.add_argument("--full-name", default="")
        parser.add_argument(
            "--staff",
            action=argparse.BooleanOptionalAction,
            default=None,
            help="make the person an operator, who sees the pages under /admin/, or end that",
        )
        parser.add_argument(
            "--reset", action="store_true", help="print a link that sets a new password"
        )
        parser.add_argument(
            "--token", action="store_true", help="issue a token and print it as JSON"
        )
        parser.add_argument("--scope", choices=Scope.values, default=Scope.WRITE.value)

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            user = user_find(options["name"]) or user_create(
                username=options["name"],
                # An account that is used by token, or gets a link, needs no known password.
                password=_password(ask=not (options["token"] or options["reset"])),
                email=options["email"],
                full_name=options["full_name"],
            )
            if options["staff"] is not None:
                staff_set(actor=None, user=user, is_staff=options["staff"])
            if options["token"]:
                scope = Scope(options["scope"])
                secret = token_issue(actor=user, name="command line", scope=scope)[1]
                self.stdout.write(json.dumps({"name": user.username, "token": secret}))
            elif options["reset"]:
                self.stdout.write(_link(user))
            else:
                self.stdout.write(f"{user.username} can sign in now")
        except RegistryError as error:
            raise CommandError(str(error)) from error


def _password(*, ask: bool) -> str:
    password = os.environ.get("HPCFAIR_PASSWORD")
    if password:
        return password
    return getpass.getpass("Password: ") if ask else secrets.token_urlsafe(24)


def _link(user: User) -> str:
    """The address at which the person sets a new password, once, within an hour."""
    uid = urlsafe_base64_encode(str(user.pk).encode())
    token = default_token_generator.make_token(user)
    return f"{settings.HUB_URL}{reverse('reset-confirm', args=[uid, token])}"
