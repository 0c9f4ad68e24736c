"""Imports of models of other servers by the hub's workers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.auth import signed_in
from hub.api.schema import example
from hub.api.v1.work.job import JobSerializer, jobs_data
from hub.api.views import ApiView, Strict, body_of
from registry.services.repository.modelimport import (
    ImportRequest,
    import_servers,
    import_submit,
)
from registry.states import Visibility

SERVER = "https://huggingface.co"


@example({"model": "lab/resnet-50", "origin": "microsoft/resnet-50", "server": SERVER})
class ImportRequestSerializer(Strict):
    model = serializers.CharField(
        max_length=200, help_text="`namespace/name` on this hub; created if it does not exist."
    )
    origin = serializers.CharField(max_length=200, help_text="`org/name` on the server.")
    server = serializers.CharField(
        max_length=500,
        default=None,
        allow_null=True,
        help_text="One of `GET /imports/servers`; null for the first.",
    )
    revision = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="Branch, tag or commit id there; empty for the default branch.",
    )
    token = serializers.CharField(
        max_length=500,
        default="",
        allow_blank=True,
        write_only=True,
        help_text="Your token for the server, for a private or gated model. It is stored "
        "encrypted, sent to that server only, and erased when the job ends.",
    )
    license = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="License of the model, if its card there states none.",
    )
    visibility = serializers.ChoiceField(
        Visibility.choices,
        default=None,
        allow_null=True,
        help_text="Of a new model. By default it is private unless everybody may fetch the "
        "original and its license lets anyone pass it on.",
    )
    overwrite = serializers.BooleanField(
        default=False, help_text="Whether to replace files that were changed on this hub, too."
    )
    compare = serializers.BooleanField(
        default=False,
        help_text="Only report in `result.summary` what an update would change.",
    )


@example({"items": [SERVER]})
class ImportServersSerializer(serializers.Serializer[Any]):
    items = serializers.ListField(child=serializers.CharField())


class ImportServersView(ApiView):
    @extend_schema(operation_id="import_servers", responses=ImportServersSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 - the signature of a view
        """List the servers from which the hub's workers import models, as the operator set them."""
        return Response({"items": import_servers()})


class ImportsView(ApiView):
    @extend_schema(
        operation_id="model_import", request=ImportRequestSerializer, responses={202: JobSerializer}
    )
    def post(self, request: Request) -> Response:
        """Import a model of another server, or update an imported one.

        A job of the hub fetches and verifies the files and commits them in your name; `GET
        /jobs/{uuid}` has its progress, `POST /jobs/{uuid}/cancel` ends it. An update moves only
        what changed at the origin, and is refused if the same files were changed here. A model that
        does not exist is created at once, empty and private.
        """
        actor, body = signed_in(request), body_of(request, ImportRequestSerializer)
        servers = import_servers()
        job = import_submit(
            actor=actor,
            name=body["model"],
            request=ImportRequest(
                server=(body["server"] or (servers[0] if servers else "")).rstrip("/"),
                origin=body["origin"],
                revision=body["revision"],
                license=body["license"],
                visibility=body["visibility"] or "",
                overwrite=body["overwrite"],
                compare=body["compare"],
            ),
            token=body["token"],
        )
        return Response(jobs_data([job])[0], status=202)
