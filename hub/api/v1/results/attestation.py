"""Signed statements on builds and records, and the keys that sign them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from hub.api.schema import example
from hub.api.views import ApiView
from registry.errors import NotFound
from registry.selectors.results.build import build_get
from registry.selectors.results.record import record_get
from registry.selectors.trust.key import hub_keys
from registry.tables import Build, Record

KEY_ID = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
ENVELOPE_EXAMPLE = {
    "payloadType": "application/vnd.in-toto+json",
    "payload": "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==",
    "signatures": [{"keyid": KEY_ID, "sig": "MEUCIQDdCg=="}],
}
KEY_EXAMPLE = {
    "keyid": KEY_ID,
    "public_pem": "-----BEGIN PUBLIC KEY-----\nMFkw...\n-----END PUBLIC KEY-----\n",
    "valid_from": "2026-01-02T03:04:05Z",
    "valid_until": None,
    "revoked_at": None,
    "reason": "",
}


class SignatureValueSerializer(serializers.Serializer[Any]):
    keyid = serializers.CharField(help_text="Id of the key: the SHA-256 of its PEM.")
    sig = serializers.CharField(help_text="Base64 of the signature.")


@example(ENVELOPE_EXAMPLE)
class EnvelopeSerializer(serializers.Serializer[Any]):
    """A DSSE envelope; its payload is an in-toto statement."""

    payloadType = serializers.CharField()  # noqa: N815  the name in DSSE
    payload = serializers.CharField(help_text="Base64 of the statement.")
    signatures = SignatureValueSerializer(many=True)


@example(KEY_EXAMPLE)
class KeySerializer(serializers.Serializer[Any]):
    keyid = serializers.CharField()
    public_pem = serializers.CharField(help_text="Public key: ECDSA on P-256.")
    valid_from = serializers.DateTimeField()
    valid_until = serializers.DateTimeField(
        allow_null=True, help_text="Time at which it was replaced; null for the current key."
    )
    revoked_at = serializers.DateTimeField(
        allow_null=True, help_text="Since then its signatures count for nothing."
    )
    reason = serializers.CharField(help_text="Reason of the revocation.")


@example({"items": [KEY_EXAMPLE]})
class KeysSerializer(serializers.Serializer[Any]):
    items = KeySerializer(many=True)


class KeysView(ApiView):
    @extend_schema(operation_id="key_list", responses=KeysSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002
        """List the keys that sign builds and records, newest first.

        `/.well-known/hpcfair-keys.json` has the same list as a signed document.
        """
        return Response({"items": KeySerializer(hub_keys(), many=True).data})


class BuildAttestationView(ApiView):
    @extend_schema(operation_id="build_attestation", responses=EnvelopeSerializer)
    def get(self, request: Request, uuid: UUID) -> Response:
        """Fetch the signed provenance of a build: a SLSA provenance in a DSSE envelope."""
        return Response(_envelope(build_get(request.user, str(uuid))))


class RecordAttestationView(ApiView):
    @extend_schema(operation_id="record_attestation", responses=EnvelopeSerializer)
    def get(self, request: Request, record: str) -> Response:
        """Fetch the signed statement on a record: its digest, its model, and who measured it."""
        return Response(_envelope(record_get(request.user, record)))


def _envelope(row: Build | Record) -> Any:
    if row.envelope is None:
        raise NotFound(
            "attestation_not_found", "This is not signed yet.", "Try again in some minutes."
        )
    return row.envelope
