"""What every address of the API shares: who may call, how much may be sent, what is read."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from hub.api.auth import signed_in
from hub.api.errors import body_too_large
from hub.api.parsers import is_storable
from hub.api.schema import document, page_of
from registry.errors import Invalid, NotFound
from registry.pagination import keyset_page

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class AlwaysJson(BaseContentNegotiation):
    """The API has one representation, so no Accept header is a reason to refuse."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        content_type = request.content_type.partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002
    ) -> tuple[BaseRenderer, str]:
        only = next(iter(renderers))
        return only, only.media_type


class ApiView(APIView):
    """Base of all addresses.

    Attributes:
        sign_in_for: Methods only a signed-in person may use.
    """

    content_negotiation_class = AlwaysJson
    # No OPTIONS: it would describe views by their Python; the schema describes them better.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    sign_in_for: ClassVar[frozenset[str]] = WRITES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        refuse_unstorable_address(request)
        refuse_large_body(request, self.body_limit())
        super().initial(request, *args, **kwargs)
        if request.method in self.sign_in_for:
            signed_in(request)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        # What says nothing else is this moment's answer to this person.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        # Answers that are files see to HEAD themselves, and are no Response despite the type.
        if request.method == "HEAD" and isinstance(response, Response):
            response.add_post_render_callback(_without_body)
        return response

    def body_limit(self) -> int:
        """Bytes a body may have; a larger one is refused before any of it is read."""
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0


def _without_body(response: HttpResponse) -> None:
    """Of an answer to HEAD, keep the length: servers complain about the rest."""
    response.headers["Content-Length"] = str(len(response.content))
    response.content = b""


class OpenApiView(ApiView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """Describe this API, as OpenAPI 3.1."""
        return Response(document())


class UnknownAddress(ApiView):
    """Every address below the API that is none."""

    sign_in_for = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound(
            "page_not_found",
            "There is nothing at this address.",
            "/api/docs lists the addresses.",
        )


class Strict(serializers.Serializer[Any]):
    """Input that refuses names it does not know: a misspelt one must not be ignored silently."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = {name: ["No such field."] for name in data if name not in self.fields}
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)


class PageQuery(Strict):
    """``?cursor=&limit=`` of every list."""

    cursor = serializers.CharField(
        required=False, default=None, max_length=1000, help_text="`next` of the page before."
    )
    limit = serializers.IntegerField(
        required=False, default=30, min_value=1, max_value=100, help_text="Items per page."
    )


def body_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The validated JSON body."""
    reader = shape(data=request.data)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def query_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The validated query parameters; of one given twice, the last counts, and an empty one not."""
    given = {name: value for name, value in request.query_params.dict().items() if value}
    reader = shape(data=given)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def plain_request(request: Request) -> HttpRequest:
    """Django's own request, for what the pages use too."""
    return request._request  # noqa: SLF001


def paged(
    rows: QuerySet[Any],
    shape: type[serializers.Serializer[Any]],
    query: Mapping[str, Any],
    *,
    name: str,
    order: Sequence[str] = ("-id",),
) -> Response:
    """One keyset page of ``rows``; ``query`` is a validated :class:`PageQuery`."""
    page = keyset_page(rows, name=name, cursor=query["cursor"], limit=query["limit"], order=order)
    return Response(page_of(shape)(page).data)


def refuse_unstorable_address(request: Request) -> None:
    """No database takes U+0000, so no address that holds one names anything."""
    given = [request.path, *request.query_params.keys(), *request.query_params.dict().values()]
    if not all(is_storable(str(text)) for text in given):
        raise Invalid("invalid_request", "The address holds the character U+0000.", "Leave it out.")


def announced_length(request: Request) -> int:
    """Content-Length.

    Raises:
        Invalid: ``invalid_request`` if there is none, or it is no whole number.
    """
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not announced.isascii() or not announced.isdigit():
        raise Invalid(
            "invalid_request",
            "Content-Length is missing or not a whole number.",
            "Send the body's length in bytes; bodies in chunks are not taken.",
        )
    return int(announced)


def refuse_large_body(request: Request, limit: int) -> None:
    """Judge a body by the length it announces, before any of it is read."""
    if request.META.get("CONTENT_LENGTH") and announced_length(request) > limit:
        raise body_too_large(limit)
