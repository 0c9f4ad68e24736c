"""The addresses of a read-only git remote.

git asks without credentials first, and asks its user for some only when told 401: so whatever is
not there for everybody is answered that way, missing or private alike. A token is the password.
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
    HttpResponseRedirect,
    StreamingHttpResponse,
    UnreadablePostError,
)
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from hub.credentials import actor_of
from hub.git import answer
from hub.git.plan import Refused, plan
from hub.git.request import BadRequest, ListReferences, read_command, read_fetch
from hub.statuses import status_of
from registry.errors import NotFound, RegistryError, Unauthenticated
from registry.selectors.access import require_fetch
from registry.selectors.repository.git import commits_of, references
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.states import RepositoryKind
from registry.tables import MLModel

View: TypeAlias = Callable[[HttpRequest, MLModel], HttpResponseBase]

_SERVICE = "git-upload-pack"
_NO_PUSH = (
    "This hub is a git remote to read from. Upload with `hf upload`, huggingface_hub or the pages."
)
# Some 300,000 commit ids.
_MOST_BYTES = 16 << 20


def repository(view: View) -> Callable[..., HttpResponseBase]:
    """Give ``view`` the repository of its address, for whoever may fetch its files."""

    @csrf_exempt
    @wraps(view)
    def found(
        request: HttpRequest, kind: RepositoryKind, namespace: str, name: str
    ) -> HttpResponseBase:
        try:
            actor, wanted = actor_of(request), f"{namespace}/{name}"
            try:
                mlmodel = repository_get(actor, kind, wanted)
            except NotFound:
                moved = repository_moved(actor, kind, wanted)
                if moved is not None:
                    return _moved(request, wanted, moved.full_name)
                if isinstance(actor, AnonymousUser):
                    raise Unauthenticated(
                        "not_authenticated", "There is no such repository for everybody."
                    ) from None
                raise
            require_fetch(actor, mlmodel)
            return view(request, mlmodel)
        except RegistryError as error:
            return _refuse(status_of(error), str(error))
        except RequestDataTooBig as error:
            return _refuse(413, str(error))
        except (BadRequest, UnreadablePostError) as error:
            return _refuse(400, str(error))

    return found


@require_GET
@repository
def info_refs(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """``GET .../info/refs?service=git-upload-pack``."""
    service = request.GET.get("service")
    if service == "git-receive-pack":
        return _refuse(403, _NO_PUSH)
    if service != _SERVICE:
        return _refuse(403, "Only git's smart HTTP protocol is spoken here.")
    if _speaks_2(request):
        return _stream(answer.advertisement_2(), "advertisement")
    return _stream(answer.advertisement(references(mlmodel)), "advertisement")


@require_POST
@repository
def upload_pack(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """``POST .../git-upload-pack``."""
    read = _body(request).read
    second = _speaks_2(request)
    asked = read_command(read) if second else read_fetch(read)
    named = references(mlmodel)
    if isinstance(asked, ListReferences):
        return _stream(answer.listing(named, asked), "result")
    if not asked.wants:
        # Before it sends a large body, git asks whether it may with an empty one.
        return _stream(iter(()), "result")
    commits = commits_of(mlmodel)
    try:
        found = plan(commits, named, asked)
    except Refused as error:
        return _stream(iter([answer.refusal(str(error))]), "result")
    pieces = (answer.answer_2 if second else answer.answer)(commits, asked, found)
    return _stream(pieces, "result")


@csrf_exempt
def receive_pack(_: HttpRequest, **__: Any) -> HttpResponseBase:
    """``POST .../git-receive-pack``: nobody may."""
    return _refuse(403, _NO_PUSH)


def _body(request: HttpRequest) -> BytesIO:
    """A request's body, inflated where it was deflated.

    Raises:
        RequestDataTooBig: it is longer than any request we answer.
        BadRequest: it is no gzip though it says so, or ends early.
    """
    # A large body comes in chunks, without a length: Django would take it for empty, but a server
    # that says so here ends it rightly.
    ended = request.META.get("wsgi.input_terminated")
    stream = cast("BinaryIO", request.META["wsgi.input"] if ended else request)
    body = stream.read(_MOST_BYTES + 1)
    if request.headers.get("Content-Encoding") in {"gzip", "x-gzip"}:
        inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        try:
            body = inflate.decompress(body, _MOST_BYTES + 1)
        except zlib.error as error:
            raise BadRequest(f"The body is no gzip: {error}.") from None
        if not inflate.eof and len(body) <= _MOST_BYTES:
            raise BadRequest("The body ends early.")
    if len(body) > _MOST_BYTES:
        raise RequestDataTooBig("The request is too long.")
    return BytesIO(body)


def _speaks_2(request: HttpRequest) -> bool:
    return "version=2" in request.headers.get("Git-Protocol", "").split(":")


def _stream(pieces: Iterator[bytes], what: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=f"application/x-{_SERVICE}-{what}")
    response.headers["Cache-Control"] = "no-cache, max-age=0, must-revalidate"
    return response


def _refuse(status: int, text: str) -> HttpResponse:
    """An answer whose text git shows its user, if it is plain."""
    response = HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    if status == 401:
        response.headers["WWW-Authenticate"] = f'Basic realm="{settings.HUB_NAME}", charset="UTF-8"'
    return response


def _moved(request: HttpRequest, old: str, new: str) -> HttpResponse:
    address = request.get_full_path()
    start = address.lower().find(f"/{old}".lower())
    response = HttpResponseRedirect(f"{address[:start]}/{new}{address[start + len(old) + 1 :]}")
    response.status_code = 307
    return response
