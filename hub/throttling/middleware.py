"""Middleware that counts requests against their limit, and refuses those beyond it."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from hub.throttling import streams
from hub.throttling.answer import describe, refuse
from hub.throttling.bucket import take
from hub.throttling.client import Sender, sender_of
from hub.throttling.limits import ARCHIVE, Limit, limit_of

#: Seconds after which a client that receives too many archives at once may ask again.
_BUSY_S = 5


def throttle(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """The middleware; it needs the session and the user."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        limit = limit_of(request) if settings.THROTTLE else None
        if limit is None:
            return get_response(request)
        sender = sender_of(request, by_address=not limit.account_setting)
        quota = limit.quota(has_account=sender.has_account)
        if not quota or not sender.key:
            return get_response(request)
        level = take(f"{limit.name}:{sender.key}", quota=quota, window_s=limit.window_s)
        if level.allowed:
            response = _answer(request, limit, sender, get_response)
        else:
            whom = "an account" if sender.has_account else "an address without an account"
            minutes = limit.window_s // 60
            detail = f"{quota} {limit.about} in {minutes} minutes are allowed to {whom}."
            response = refuse(request, limit, detail, level.reset_s)
        describe(response, limit, quota, level)
        return response

    return middleware


def _answer(
    request: HttpRequest,
    limit: Limit,
    sender: Sender,
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> HttpResponseBase:
    """The response; of an archive, if the address does not receive too many at this moment."""
    most = settings.ARCHIVES_AT_ONCE
    if limit is not ARCHIVE or sender.has_account or not most:
        return get_response(request)
    if not streams.begin(sender.key, most):
        detail = f"This address receives {most} archives at the moment."
        return refuse(request, limit, detail, _BUSY_S)
    try:
        response = get_response(request)
    except BaseException:
        streams.end(sender.key)
        raise
    close, pending = response.close, [sender.key]

    def closed() -> None:
        close()
        while pending:
            streams.end(pending.pop())

    # Servers close each response, also one whose client has left.
    response.close = closed  # type: ignore[method-assign]
    return response
