"""Views of a read-only git remote. A token serves as password.

git sends no credentials at first, and prompts its user only after a 401: repositories that are
missing or not public are therefore answered by 401.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import wraps
from io import BytesIO
from typing import Any, BinaryIO, TypeAlias, cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import RequestDataTooBig
from django.http import (
    HttpRequest,
    HttpResponse,
    StreamingHttpResponse,
    UnreadablePostError,
)
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from gunicorn.http.errors import ParseException

from hub.credentials import actor_of
from hub.git import answer
from hub.git.plan import FetchRefused, plan
from hub.git.request import GitRequestError, ListReferences, read_command, read_fetch
from hub.refusals import redirect_moved, status_of
from registry.errors import NotFound, RegistryError, Unauthenticated
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.git import commits_of, references
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.states import RepositoryKind
from registry.tables import MLModel

View: TypeAlias = Callable[[HttpRequest, MLModel], HttpResponseBase]

_SERVICE = "git-upload-pack"
_NO_PUSH = "This git remote is read-only. Upload with `hf upload`, huggingface_hub or the pages."
# Enough for 300,000 commit ids.
_MOST_BYTES = 16 << 20


def repository(view: View) -> Callable[..., HttpResponseBase]:
    """Decorator that passes the repository of the address, if the user may fetch its files."""

    @csrf_exempt
    @wraps(view)
    def wrapper(
        request: HttpRequest, kind: RepositoryKind, namespace: str, name: str
    ) -> HttpResponseBase:
        try:
            actor, full_name = actor_of(request), f"{namespace}/{name}"
            try:
                mlmodel = repository_get(actor, kind, full_name)
            except NotFound:
                moved = repository_moved(actor, kind, full_name)
                if moved is not None:
                    return redirect_moved(request, full_name, moved.full_name)
                if isinstance(actor, AnonymousUser):
                    raise Unauthenticated(
                        "not_authenticated", "There is no such public repository."
                    ) from None
                raise
            require_fetch(actor, mlmodel)
            return view(request, mlmodel)
        except RegistryError as error:
            return _refuse(status_of(error), str(error))
        except RequestDataTooBig as error:
            return _refuse(413, str(error))
        except (GitRequestError, UnreadablePostError) as error:
            return _refuse(400, str(error))

    return wrapper


@require_GET
@repository
def info_refs(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """``GET .../info/refs?service=git-upload-pack``."""
    service = request.GET.get("service")
    if service == "git-receive-pack":
        return _refuse(403, _NO_PUSH)
    if service != _SERVICE:
        return _refuse(403, "Only git's smart HTTP protocol is supported.")
    if _is_protocol_2(request):
        return _stream(answer.advertisement_2(), "advertisement")
    return _stream(answer.advertisement(references(mlmodel)), "advertisement")


@require_POST
@repository
def upload_pack(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """``POST .../git-upload-pack``."""
    read = _body(request).read
    is_2 = _is_protocol_2(request)
    fetch = read_command(read) if is_2 else read_fetch(read)
    refs = references(mlmodel)
    if isinstance(fetch, ListReferences):
        return _stream(answer.listing(refs, fetch), "result")
    if not fetch.wants:
        # Before a large body, git sends an empty request to probe the authentication.
        return _stream(iter(()), "result")
    commits = commits_of(mlmodel)
    try:
        planned = plan(commits, refs, fetch)
    except FetchRefused as error:
        return _stream(iter([answer.refusal(str(error))]), "result")
    pieces = (answer.answer_2 if is_2 else answer.answer)(commits, fetch, planned)
    return _stream(pieces, "result")


@csrf_exempt
def receive_pack(_: HttpRequest, **__: Any) -> HttpResponseBase:
    """``POST .../git-receive-pack``: always refused."""
    return _refuse(403, _NO_PUSH)


def _body(request: HttpRequest) -> BytesIO:
    # A large body is sent in chunks, without a length, which Django takes for empty. A server that
    # sets this key ends the stream itself.
    is_terminated = request.META.get("wsgi.input_terminated")
    stream = cast("BinaryIO", request.META["wsgi.input"] if is_terminated else request)
    try:
        body = stream.read(_MOST_BYTES + 1)
    except (OSError, ParseException) as error:
        # The server parses chunks while they are read: an early end, a malformed length.
        raise GitRequestError(f"The body is incomplete or malformed: {error}.") from None
    if request.headers.get("Content-Encoding") in {"gzip", "x-gzip"}:
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            body = inflate.decompress(body, _MOST_BYTES + 1)
        except zlib.error as error:
            raise GitRequestError(f"The body is not gzip: {error}.") from None
        if not inflate.eof and len(body) <= _MOST_BYTES:
            raise GitRequestError("The body is incomplete.")
    if len(body) > _MOST_BYTES:
        raise RequestDataTooBig("The request is too long.")
    return BytesIO(body)


def _is_protocol_2(request: HttpRequest) -> bool:
    return "version=2" in request.headers.get("Git-Protocol", "").split(":")


def _stream(pieces: Iterator[bytes], what: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=f"application/x-{_SERVICE}-{what}")
    response.headers["Cache-Control"] = "no-cache, max-age=0, must-revalidate"
    return response


def _refuse(status: int, text: str) -> HttpResponse:
    """A refusal; git shows plain text to its user."""
    response = HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    if status == 401:
        response.headers["WWW-Authenticate"] = f'Basic realm="{settings.HUB_NAME}", charset="UTF-8"'
    return response
