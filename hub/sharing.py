"""Answers a page for all visitors of the same second, in place of making it for each.

A page costs tens of milliseconds of a processor. What people see who are not signed in is the same
for all of them, so that the first request makes it and those of the next second share it.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

View = Callable[[HttpRequest], HttpResponseBase]
_Key = tuple[str, ...]

#: Programs read what they have just written, and the limits of their address in each answer; files
#: are counted as downloads.
_NEVER = re.compile(r"/(api|xet|admin|healthz|readyz|metrics)(/|$)|/(resolve|raw)/")
#: Request headers that change an answer.
_VARYING = ("Accept", "HX-Request", "HX-Target", "HX-Boosted", "HX-History-Restore-Request")
_CONDITIONAL = ("Range", "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since")
#: Headers that are of one address, and not of the answer.
_OF_ADDRESS = ("RateLimit", "RateLimit-Policy")
_MOST_ANSWERS, _MOST_BYTES = 100, 300_000
#: How long a request waits for another one that makes its answer, in seconds.
_PATIENCE_S = 5.0
#: How long requests do not wait for each other after an answer that nobody may share, in seconds.
_APART_S = 60.0


@dataclass(slots=True)
class _Shared:
    """An answer, once it is made, and the lock of the request that makes it. Times are those of
    ``time.monotonic()``."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: HttpResponse | None = None
    until: float = 0.0
    apart_until: float = 0.0


def share_for_a_moment(get_response: View) -> View:
    """Middleware that makes a page once in :data:`SHARED_PAGES_S` seconds for visitors without a
    session, token or condition. Shared answers state no limits of requests."""
    answers: OrderedDict[_Key, _Shared] = OrderedDict()
    guard = threading.Lock()

    def entry_of(key: _Key) -> _Shared:
        with guard:
            entry = answers.setdefault(key, _Shared())
            answers.move_to_end(key)
            while len(answers) > _MOST_ANSWERS:
                answers.popitem(last=False)
            return entry

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not settings.SHARED_PAGES_S or not _is_anonymous_read(request):
            return get_response(request)
        entry = entry_of(_key(request))
        is_apart = time.monotonic() < entry.apart_until
        if is_apart or not entry.lock.acquire(timeout=_PATIENCE_S):
            return get_response(request)
        try:
            if entry.answer is not None and time.monotonic() < entry.until:
                return _copy(entry.answer)
            response = get_response(request)
            entry.answer = None
            if not isinstance(response, HttpResponse) or not _is_for_all(response):
                entry.apart_until = time.monotonic() + _APART_S
                return response
            for name in _OF_ADDRESS:
                response.headers.pop(name, None)
            entry.answer = _copy(response)
            entry.until = time.monotonic() + settings.SHARED_PAGES_S
            return response
        finally:
            entry.lock.release()

    return middleware


def _key(request: HttpRequest) -> _Key:
    headers = (request.headers.get(name, "") for name in _VARYING)
    host = request.headers.get("Host", "")
    return (str(request.method), request.scheme or "", host, request.get_full_path(), *headers)


def _is_anonymous_read(request: HttpRequest) -> bool:
    stated = ("Cookie", "Authorization", *_CONDITIONAL)
    is_anonymous = not any(request.headers.get(name) for name in stated)
    return is_anonymous and request.method in {"GET", "HEAD"} and not _NEVER.search(request.path)


def _is_for_all(response: HttpResponse) -> bool:
    caching = response.headers.get("Cache-Control", "")
    is_own = "private" in caching or "no-store" in caching or bool(response.cookies)
    is_file = "X-Accel-Redirect" in response.headers
    is_small = len(response.content) <= _MOST_BYTES
    return response.status_code == 200 and is_small and not is_own and not is_file


def _copy(answer: HttpResponse) -> HttpResponse:
    """An answer of its own for a request; middleware further out changes its headers."""
    return HttpResponse(answer.content, status=answer.status_code, headers=dict(answer.headers))
