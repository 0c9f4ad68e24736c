"""Errors of servers of the Hugging Face Hub's protocol, with what helps there."""

from collections.abc import Iterator
from contextlib import contextmanager

from hpcfair.errors import (
    Forbidden,
    HubError,
    HubUnreachable,
    ModelNotFound,
    Offline,
    Unauthenticated,
)
from hpcfair.origin import ModelOrigin
from hpcfair.transport import Transport


@contextmanager
def refusals_at(origin: ModelOrigin, http: Transport) -> Iterator[None]:
    """Raises errors of the server of ``origin`` with what helps there; ``http`` leads to it."""
    try:
        yield
    except Offline:
        raise
    except HubUnreachable as error:
        raise HubUnreachable(
            error.detail.replace("The hub at", "The server at"),
            f"Is {origin.server} a server of the Hugging Face Hub's protocol? HF_ENDPOINT names "
            "another one, and so does hf:https://host/org/name.",
            code=error.code,
        ) from error
    except (ModelNotFound, Forbidden, Unauthenticated) as error:
        raise _with_hint(error, origin, has_token=http.config.token is not None) from error


def _with_hint(error: HubError, origin: ModelOrigin, *, has_token: bool) -> HubError:
    if error.code == "access_gated":
        detail = f"Access to {origin.url} is granted on request."
        hint = f"Ask for it on {origin.url}, and try again."
        hint = hint if has_token else f"{hint} {_token_hint(origin)}"
    elif isinstance(error, ModelNotFound) or not has_token:
        detail = f"{origin.server} has no model {origin.name}, or it is private."
        hint = f"Check its name. {_token_hint(origin)}"
    else:
        detail, hint = error.detail, f"Check the token. {_token_hint(origin)}"
    return type(error)(detail, hint, code=error.code, status=error.status)


def _token_hint(origin: ModelOrigin) -> str:
    return (
        f"Your token for {origin.server} is read from HF_TOKEN if HF_ENDPOINT names that server, "
        f"or from `hpcfair login {origin.server}` if it is a hub."
    )
