"""Shared by all views of the API: authentication, limits of bodies, input, pages."""

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
from hub.api.schema import document, page_of
from registry.errors import Invalid, NotFound
from registry.pagination import keyset_page
from registry.search.vocabulary import suggestion
from registry.validation.texts import is_storable

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class AlwaysJson(BaseContentNegotiation):
    """Negotiates JSON whatever the Accept header is: there is no other representation."""

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
    """Base of all views.

    Attributes:
        sign_in_for: Methods that require authentication.
    """

    content_negotiation_class = AlwaysJson
    # No OPTIONS, which describes views by their Python names: the schema documents them.
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    sign_in_for: ClassVar[frozenset[str]] = WRITES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        refuse_unstorable_address(request)
        refuse_large_body(request, self.body_limit())
        super().initial(request, *args, **kwargs)
        if request.method in self.sign_in_for:
            self.require_sign_in(request)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        # By default a response is for this user, and must be revalidated.
        response.headers.setdefault("Cache-Control", "private, no-cache")
        # Responses with files handle HEAD themselves, and are no Response despite the annotation.
        if request.method == "HEAD" and isinstance(response, Response):
            response.add_post_render_callback(_without_body)
        return response

    def require_sign_in(self, request: Request) -> None:
        """Refuse a request without credentials. Raises ``Unauthenticated``."""
        signed_in(request)

    def body_limit(self) -> int:
        """Upper bound of a body's bytes; larger ones are refused before they are read."""
        return settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0


def _without_body(response: HttpResponse) -> None:
    """Remove the body of a response to HEAD and keep its length."""
    response.headers["Content-Length"] = str(len(response.content))
    response.content = b""


class OpenApiView(ApiView):
    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """Fetch the OpenAPI 3.1 document of this API."""
        return Response(document())


class UnknownAddress(ApiView):
    """Answers addresses below ``/api/`` that do not exist."""

    sign_in_for = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NotFound(
            "page_not_found", "There is no such address.", "/api/docs lists the addresses."
        )


class Strict(serializers.Serializer[Any]):
    """Input that refuses unknown fields, so that misspelt ones are not silently ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = {
                name: [f"No such field.{suggestion(name, self.fields)}"]
                for name in data
                if name not in self.fields
            }
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)


class PageQuery(Strict):
    """Parameters ``cursor`` and ``limit`` of every list."""

    cursor = serializers.CharField(
        required=False, default=None, max_length=1000, help_text="`next` of the page before."
    )
    limit = serializers.IntegerField(
        required=False, default=30, min_value=1, max_value=100, help_text="Items per page."
    )


def body_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The validated JSON body."""
    reader = shape(data=request.data, context={"request": request})
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def query_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """The validated query parameters, without empty ones; the last of repeated ones is used."""
    values = {name: value for name, value in request.query_params.dict().items() if value}
    reader = shape(data=values)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def plain_request(request: Request) -> HttpRequest:
    """The Django request behind ``request``."""
    return request._request  # noqa: SLF001


def paged(
    rows: QuerySet[Any],
    shape: type[serializers.Serializer[Any]],
    query: Mapping[str, Any],
    *,
    name: str,
    order: Sequence[str] = ("-id",),
) -> Response:
    """A page of ``rows``; ``query`` is a validated :class:`PageQuery`."""
    page = keyset_page(rows, name=name, cursor=query["cursor"], limit=query["limit"], order=order)
    return Response(page_of(shape)(page).data)


def refuse_unstorable_address(request: Request) -> None:
    """Refuse addresses with U+0000, which no database can store."""
    texts = [request.path, *request.query_params.keys(), *request.query_params.dict().values()]
    if not all(is_storable(str(text)) for text in texts):
        raise Invalid("invalid_request", "The address contains the character U+0000.", "Remove it.")


def announced_length(request: Request) -> int:
    """Content-Length.

    Raises:
        Invalid: ``invalid_request`` if it is missing or not a whole number.
    """
    announced = request.META.get("CONTENT_LENGTH") or ""
    if not announced.isascii() or not announced.isdigit():
        raise Invalid(
            "invalid_request",
            "Content-Length is missing or not a whole number.",
            "Send the length of the body in bytes; chunked bodies are not accepted.",
        )
    return int(announced)


def refuse_large_body(request: Request, limit: int) -> None:
    """Refuse a body whose Content-Length exceeds ``limit``, before it is read."""
    if request.META.get("CONTENT_LENGTH") and announced_length(request) > limit:
        raise body_too_large(limit)
