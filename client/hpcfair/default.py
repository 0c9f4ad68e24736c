"""The methods of :class:`hpcfair.Client` as functions, with settings from the environment.

The environment is read at each call, so that a notebook can set ``HPCFAIR_URL`` after the import.
Equal settings share one client and its connections.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from hpcfair import grant
from hpcfair.client import Client
from hpcfair.config import Config, keep_token
from hpcfair.trust.hubkeys import trust_at_login
from hpcfair.types import Account

P = ParamSpec("P")
R = TypeVar("R")


def default_client() -> Client:
    """The client that the module's functions use. Raises BadConfig if a variable or the
    configuration file has an invalid value."""
    return _client(Config.read())


@lru_cache(maxsize=8)
def _client(config: Config) -> Client:
    return Client(config=config)


def _verb(method: Callable[Concatenate[Client, P], R]) -> Callable[P, R]:
    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return method(default_client(), *args, **kwargs)

    # help() and completion must not show "self".
    shown = inspect.signature(method)
    call.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=list(shown.parameters.values())[1:]
    )
    call.__qualname__ = method.__name__
    return call


def login(token: str | None = None, url: str | None = None) -> Account:
    """Verify a token and store it for this hub, readable by its owner only; trust the hub's key.

    Args:
        token: Created on the settings page of the hub; default: sign in from a browser. An address
            and a code are printed for that, and the function waits until they are used.
        url: Address of the hub; default: ``HPCFAIR_URL``, else the hub stored last.

    Raises:
        Unauthenticated: the hub rejects the token, or the code expired; nothing is stored.
        Forbidden: the sign-in was refused in the browser.
        Untrusted: the hub's key is not the one that is trusted; nothing is stored.
        StorageFailed: the token cannot be stored.
    """
    if token is None:
        config = replace(Config.read(url), token=None)
        with Client(config=config) as client:
            sign_in = grant.begin(client.http)
            sys.stderr.write(f"{sign_in}\n")
            token = grant.token_of(client.http, sign_in)
    with Client(url, token) as client:
        account = client.whoami()
        trust_at_login(client.http)
        keep_token(client.config.url, client.config.token or token)
    return account


search = _verb(Client.search)
compare = _verb(Client.compare)
compose = _verb(Client.compose)
info = _verb(Client.info)
if TYPE_CHECKING:
    # The result depends on an argument, which the type of _verb() cannot express.
    load = Client().load
else:
    load = _verb(Client.load)
save = _verb(Client.save)
import_model = _verb(Client.import_model)
reuse = _verb(Client.reuse)
prefetch = _verb(Client.prefetch)
pull = _verb(Client.pull)
reproduce = _verb(Client.reproduce)
tune = _verb(Client.tune)
run_on = _verb(Client.run_on)
jobs = _verb(Client.jobs)
targets = _verb(Client.targets)
whoami = _verb(Client.whoami)
