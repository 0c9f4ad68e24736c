"""Generates the OpenAPI document from the views.

The docstring of a view's method documents its operation: summary in the first line, description in
the rest. The tag is the name of the module. Errors of all operations are one shared response.
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

from hub.problems import CONTENT_TYPE
from registry.errors import CODES
from registry.states import RefKind

Shape = TypeVar("Shape", bound=type[serializers.Serializer[Any]])

PROBLEM_CODES = list(CODES.items())
#: References of pull requests are in the Hugging Face protocol only.
REF_KINDS = [(kind.value, kind.label) for kind in (RefKind.BRANCH, RefKind.TAG)]

PATH_PARAMETERS = {
    "sequence": "Position of a call in the order of execution, from 0.",
    "namespace": "Name of a person or organisation; case-insensitive.",
    "name": "Second part of the name of the model or data set; case-insensitive.",
    "path": "Path of the file; may contain slashes.",
    "identifier": "`ark:/NAAN/name`, `ark:NAAN/name` or the name alone; hyphens are ignored.",
    "revision": "Branch, tag, commit id, or at least the first 7 digits of a commit id.",
    "ref": "Name of the branch or tag; may contain slashes.",
    "kind": "`branch` or `tag`.",
    "sha256": "SHA-256 of the bytes, 64 lowercase hex digits.",
    "slug": "Name of the target, such as `x86-64-avx512`.",
    "device": "Name of the device.",
    "organisation": "Name of the organisation.",
    "username": "Name of a person.",
    "record": "Id of the record: SHA-256 of its canonical JSON.",
    "uuid": "Its UUID.",
    "operation": "Name of a read or a write.",
}


def example(value: Mapping[str, Any]) -> Callable[[Shape], Shape]:
    """Decorator that documents ``value`` as the example of a serializer."""

    def decorate(shape: Shape) -> Shape:
        name = shape.__name__.removesuffix("Serializer")
        documented = OpenApiExample(name, value=value, status_codes=["200", "201", "202"])
        return extend_schema_serializer(examples=[documented])(shape)

    return decorate


def example_of(shape: type[serializers.Serializer[Any]]) -> Any:
    """The example of a serializer, as passed to :func:`example`."""
    return shape._spectacular_annotation["examples"][0].value  # type: ignore[attr-defined]  # noqa: SLF001


@cache
def page_of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Serializer of a page of ``item``, that is of :class:`registry.pagination.Page`."""
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
    """Every error, in the format of RFC 9457. Programs read `code`, people the rest."""

    type = serializers.URLField(help_text="Address of the explanation of `code`.")
    title = serializers.CharField(help_text="Meaning of `code`.")
    status = serializers.IntegerField(help_text="HTTP status.")
    code = serializers.ChoiceField(PROBLEM_CODES, help_text="Stable identifier.")
    detail = serializers.CharField(help_text="The error of this request.")
    hint = serializers.CharField(allow_blank=True, help_text="What to do about it.")
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.CharField(),
        help_text="Invalid fields with their errors; paths of nested fields have dots.",
    )


class Schema(AutoSchema):
    """Describes one operation."""

    def get_summary(self) -> str:
        return self._docstring()[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]
        return self._docstring()[1]

    def get_tags(self) -> list[str]:
        return [type(self.view).__module__.rpartition(".")[2]]

    def get_auth(self) -> list[dict[str, Any]]:
        schemes: list[dict[str, Any]] = super().get_auth()
        methods = self.view.sign_in_for  # type: ignore[attr-defined]
        return schemes if self.method in methods else [*schemes, {}]

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
    """Lists HEAD for views that have it without GET."""

    def get_allowed_methods(self, callback: Any) -> list[str]:
        head = ["HEAD"] if "head" in vars(callback.cls) else []
        methods = super().get_allowed_methods(callback)  # type: ignore[no-untyped-call]
        return [*methods, *head]


class Generator(SchemaGenerator):
    """Generates the document, with the shared error response."""

    endpoint_inspector_cls = Endpoints

    def get_schema(self, request: Any = None, public: bool = False) -> Any:  # noqa: FBT001, FBT002
        schema = super().get_schema(request, public)  # type: ignore[no-untyped-call]
        problem = {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {"Problem": {"value": example_of(ProblemSerializer)}},
        }
        schema["components"]["responses"] = {
            "Problem": {"description": "Any error.", "content": {CONTENT_TYPE: problem}}
        }
        return schema


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document; cached, because its generation takes a second."""
    schema: dict[str, Any] = Generator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return schema


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "hub.api.auth.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "description": "A token: `hpf_...`."}


class DeviceScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "hub.api.deviceauth.DeviceAuthentication"
    name = "device"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "The token of a device: `hpd_...`.",
        }


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "hub.api.auth.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:  # noqa: ARG002
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "A session of the pages; writes also need X-CSRFToken.",
        }
