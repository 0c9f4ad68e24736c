"""Persistent identifiers of models, data sets and versions."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example, page_of
from hub.api.views import ApiView, PageQuery, paged, query_of
from registry.fair import ark
from registry.selectors.fair.identifier import (
    ark_of,
    identifier_get,
    identifiers_at,
    identifiers_of,
    pid_url,
)
from registry.selectors.repository.mlmodel import mlmodel_get, repository_get
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, MLModel, Revision

NAMES_EXAMPLE = {
    "model": "https://hub.example.org/ark:/99999/h2b5n8w3tkx",
    "version": "https://hub.example.org/ark:/99999/h2x7k4q9mpr",
    "doi": None,
}
IDENTIFIER_EXAMPLE = {
    "ark": "ark:/99999/h2x7k4q9mpr",
    "url": "https://hub.example.org/ark:/99999/h2x7k4q9mpr",
    "kind": "version",
    "repository_kind": "model",
    "name": "lab/galaxy-cnn",
    "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
    "doi": None,
    "is_test": True,
    "minted_at": "2026-01-02T03:04:05Z",
    "withdrawn_at": None,
    "reason": "",
}


@example(NAMES_EXAMPLE)
class NamesSerializer(serializers.Serializer[Any]):
    """Addresses for citing a model and its version."""

    model = serializers.CharField(allow_null=True, help_text="Address of all versions together.")
    version = serializers.CharField(
        allow_null=True, help_text="Address of this version; null for an empty first commit."
    )
    doi = serializers.CharField(allow_null=True, help_text="DOI of this version, if it has one.")


@example(IDENTIFIER_EXAMPLE)
class IdentifierSerializer(serializers.Serializer[Any]):
    ark = serializers.SerializerMethodField()
    url = serializers.SerializerMethodField(help_text="Address for citations.")
    kind = serializers.ChoiceField(
        IdentifierKind.choices, help_text="`concept` identifies all versions together."
    )
    repository_kind = serializers.ChoiceField(RepositoryKind.choices)
    name = serializers.SerializerMethodField(help_text="Its current or last full name.")
    revision = serializers.SerializerMethodField(
        help_text="Commit id of the version; null for a concept."
    )
    doi = serializers.SerializerMethodField()
    is_test = serializers.SerializerMethodField(
        help_text="Whether NAAN 99999, the test authority, assigned it: it resolves on this hub "
        "only, and nothing is promised beyond it."
    )
    minted_at = serializers.DateTimeField()
    withdrawn_at = serializers.DateTimeField(
        allow_null=True, help_text="Time of the withdrawal, after which only the record remains."
    )
    reason = serializers.CharField(allow_blank=True, help_text="Reason for the withdrawal.")

    def get_ark(self, row: Identifier) -> str:
        return ark_of(row.name)

    def get_url(self, row: Identifier) -> str:
        return pid_url(row.name)

    def get_name(self, row: Identifier) -> str:
        return row.mlmodel.full_name if row.mlmodel else row.full_name

    def get_revision(self, row: Identifier) -> str | None:
        return row.oid or None

    def get_doi(self, row: Identifier) -> str | None:
        return row.doi or None

    def get_is_test(self, row: Identifier) -> bool:
        return ark.is_test(pid_url(row.name))


def names_data(revision: Revision) -> dict[str, str | None]:
    """Input of :class:`NamesSerializer` for a version."""
    concept, version = identifiers_at(revision)
    return {
        "model": pid_url(concept.name) if concept else None,
        "version": pid_url(version.name) if version else None,
        "doi": (version.doi or None) if version else None,
    }


class IdentifierView(ApiView):
    @extend_schema(operation_id="identifier_get", responses=IdentifierSerializer)
    def get(self, request: Request, identifier: str) -> Response:
        """Fetch what a persistent identifier identifies.

        The record of a withdrawn model or version is served at `url`.
        """
        resolved = identifier_get(request.user, identifier)
        return Response(IdentifierSerializer(resolved.identifier).data)


class ModelIdentifiersView(ApiView):
    @extend_schema(
        operation_id="model_identifiers",
        parameters=[PageQuery],
        responses=page_of(IdentifierSerializer),
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the identifiers of a model: of all versions together, then of each, newest first."""
        return _identifiers(request, mlmodel_get(request.user, f"{namespace}/{name}"))


class DatasetIdentifiersView(ApiView):
    @extend_schema(
        operation_id="dataset_identifiers",
        parameters=[PageQuery],
        responses=page_of(IdentifierSerializer),
    )
    def get(self, request: Request, namespace: str, name: str) -> Response:
        """List the identifiers of a data set: of all versions together, then of each, newest first.

        The addresses below `/api/v1/models` are those of models only.
        """
        full_name = f"{namespace}/{name}"
        return _identifiers(
            request, repository_get(request.user, RepositoryKind.DATASET, full_name)
        )


def _identifiers(request: Request, mlmodel: MLModel) -> Response:
    query = query_of(request, PageQuery)
    rows = identifiers_of(mlmodel).select_related("mlmodel__namespace")
    order = ("kind", "-id")
    return paged(rows, IdentifierSerializer, query, name=f"identifier.{mlmodel.uuid}", order=order)
