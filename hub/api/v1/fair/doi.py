"""Requests for DOIs of versions."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.work.job import JobSerializer, jobs_data
from hub.api.views import ApiView, Strict, body_of
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.fair.doi import doi_request


@example({"revision": "v1.0"})
class DoiRequestSerializer(Strict):
    revision = serializers.CharField(
        default=None,
        allow_null=True,
        help_text="Branch, tag or commit id; null for the default branch.",
    )


class DoiView(ApiView):
    @extend_schema(
        operation_id="model_doi", request=DoiRequestSerializer, responses={202: JobSerializer}
    )
    def post(self, request: Request, namespace: str, name: str) -> Response:
        """Register a DOI for a version, if the hub has a DataCite account.

        A DOI is permanent. The card must have the metadata that DataCite requires; `fields` lists
        what is missing. The DOI is in the job's result and in the version's record.
        """
        actor, body = signed_in(request), body_of(request, DoiRequestSerializer)
        mlmodel = mlmodel_get(actor, f"{namespace}/{name}")
        job = doi_request(actor=actor, revision=revision_get(mlmodel, body["revision"]))
        return Response(jobs_data([job])[0], status=202)
