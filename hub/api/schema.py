"""How the OpenAPI document is drawn from the views.

A view's method docstring is the documentation of its operation: first line the summary, the rest
the description. The noun's file is its tag. Every operation also answers with problem documents,
which lists of responses would only repeat.
"""

from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import EndpointEnumerator, SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from hub.api import errors
from registry.errors import CODES
from registry.states import RefKind

Shape = TypeVar("Shape", bound=type[serializers.Serializer[Any]])

PROBLEM_CODES = list(CODES.items())
#: A pull request's line is named by its number, and by the Hugging Face protocol alone.
REF_KINDS = [(kind.value, kind.label) for kind in (RefKind.BRANCH, RefKind.TAG)]

PATH_PARAMETERS = {
    "namespace": "A person's or an organisation's name; upper and lower case are the same.",
    "name": "The second part of the model's name; upper and lower case are the same.",
    "path": "Path of the file; may hold slashes.",
    "identifier": "`ark:/NAAN/name`, `ark:NAAN/name` or the name alone; hyphens do not count.",
    "revision": "A branch, a tag, a commit id or the first 7 or more digits of one.",
    "ref": "Name of the branch or tag; may hold slashes.",
    "kind": "`branch` or `tag`.",
    "sha256": "SHA-256 of the bytes, 64 lowercase hex digits.",
    "slug": "The target's name, such as `x86-64-avx512`.",
    "device": "The device's name.",
    "organisation": "The organisation's name.",
    "username": "A person's name.",
    "record": "The record's id, the SHA-256 of its canonical JSON.",
    "uuid": "The UUID it was given.",
}


def example(value: Mapping[str, Any]) -> Callable[[Shape], Shape]:
    """Show ``value`` wherever the decorated serializer is sent or received."""

    def decorate(shape: Shape) -> Shape:
        name = shape.__name__.removesuffix("Serializer")
        shown = OpenApiExample(name, value=value, status_codes=["200", "201", "202"])
        return extend_schema_serializer(examples=[shown])(shape)

    return decorate


def example_of(shape: type[serializers.Serializer[Any]]) -> Any:
    """What :func:`example` was given for a serializer."""
    return shape._spectacular_annotation["examples"][0].value  # type: ignore[attr-defined]  # noqa: SLF001


@cache
def page_of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """The serializer of one page of a list of ``item``: a ``pagination.Page``."""
    name = f"{item.__name__.removesuffix('Serializer')}Page"
    fields = {
        "items": item(many=True),
        "next": serializers.CharField(
            allow_null=True, help_text="The `cursor` of the next page; null on the last."
        ),
    }
    page: type[serializers.Serializer[Any]] = type(name, (serializers.Serializer,), fields)
    return example({"items": [example_of(item)], "next": None})(page)


@example(
    {
        "type": "http://127.0.0.1:8000/docs/errors#stale_parent",
        "title": CODES["stale_parent"],
        "status": 409,
        "code": "stale_parent",
        "detail": "main moved on to 1f0c5f1 since you looked.",
        "hint": "Look at the newer revision, then commit on top of it.",
        "fields": {},
    }
)
class ProblemSerializer(serializers.Serializer[Any]):
    """Every error, as RFC 9457 has it. Programs read `code`, people the rest."""

    type = serializers.URLField(help_text="Where the code is explained.")
    title = serializers.CharField(help_text="What the code means.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    code = serializers.ChoiceField(PROBLEM_CODES, help_text="Stable.")
    detail = serializers.CharField(help_text="What is wrong with this request.")
    hint = serializers.CharField(allow_blank=True, help_text="What to do about it.")
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.CharField(),
        help_text="What is wrong with which field; the path of a nested one has dots.",
    )


class Schema(AutoSchema):
    """One operation."""

    def get_summary(self) -> str:
        return self._docstring()[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]
        return self._docstring()[1]

    def get_tags(self) -> list[str]:
        return [type(self.view).__module__.rpartition(".")[2]]

    def get_auth(self) -> list[dict[str, Any]]:
        schemes: list[dict[str, Any]] = super().get_auth()
        needed = self.view.sign_in_for  # type: ignore[attr-defined]
        return schemes if self.method in needed else [*schemes, {}]

    def _docstring(self) -> tuple[str, str]:
        method = getattr(self.view, self.method.lower())
        summary, _, rest = (method.__doc__ or "").strip().partition("\n")
        return summary, "\n".join(line.strip() for line in rest.splitlines()).strip()

    def _resolve_path_parameters(self, variables: list[str]) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super()._resolve_path_parameters(variables)  # type: ignore[no-untyped-call]
        for parameter in parameters:
            parameter["description"] = PATH_PARAMETERS[parameter["name"]]
        return parameters

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses: dict[str, Any] = super()._get_response_bodies(direction)
        for status, response in responses.items():
            response["description"] = response["description"] or HTTPStatus(int(status)).phrase
        self.resolve_serializer(ProblemSerializer(), "response")
        return {**responses, "default": {"$ref": "#/components/responses/Problem"}}


class Endpoints(EndpointEnumerator):
    """Keeps HEAD where a view has it without GET."""

    def get_allowed_methods(self, callback: Any) -> list[str]:
        head = ["HEAD"] if "head" in vars(callback.cls) else []
        methods = super().get_allowed_methods(callback)  # type: ignore[no-untyped-call]
        return [*methods, *head]


class Generator(SchemaGenerator):
    """The document."""

    endpoint_inspector_cls = Endpoints

    def get_schema(self, request: Any = None, public: bool = False) -> Any:  # noqa: FBT001, FBT002
        drawn = super().get_schema(request, public)  # type: ignore[no-untyped-call]
        problem = {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {"Problem": {"value": example_of(ProblemSerializer)}},
        }
        drawn["components"]["responses"] = {
            "Problem": {"description": "Any error.", "content": {errors.CONTENT_TYPE: problem}}
        }
        return drawn


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document. Drawing it takes a second, and it is the same until a restart."""
    drawn: dict[str, Any] = Generator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return drawn


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "hub.api.auth.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "description": "A token: `hpf_...`."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "hub.api.auth.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "Someone signed in on the pages; writes need X-CSRFToken too.",
        }
