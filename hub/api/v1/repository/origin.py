"""The repository of another server that a model was imported from."""

from typing import Any

from rest_framework import serializers

from hub.api.schema import example
from hub.api.views import Strict
from registry.ids import OID_PATTERN
from registry.selectors.fair.origin import imported_version
from registry.services.fair.derivation import ModelOrigin
from registry.tables import Revision

_URL = "Address of the repository on a server of the Hugging Face Hub's protocol."
ORIGIN_EXAMPLE = {
    "url": "https://huggingface.co/lab/galaxy-cnn",
    "commit": "89e6c98d92887913cadf06b2adb97f26cde4849b",
}


@example(ORIGIN_EXAMPLE)
class OriginSerializer(Strict):
    url = serializers.CharField(max_length=500, help_text=_URL)
    commit = serializers.RegexField(f"^{OID_PATTERN}$", help_text="Commit id on that server.")

    def validate(self, attrs: dict[str, Any]) -> ModelOrigin:
        return ModelOrigin(attrs["url"], attrs["commit"])


@example(
    {
        **ORIGIN_EXAMPLE,
        "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
        "imported_at": "2026-01-02T03:04:05Z",
    }
)
class ImportedVersionSerializer(serializers.Serializer[Any]):
    url = serializers.CharField(help_text=_URL)
    commit = serializers.CharField(source="oid", help_text="Commit id on that server.")
    revision = serializers.CharField(
        source="revision.oid", help_text="Commit id of the import on this hub."
    )
    imported_at = serializers.DateTimeField(source="revision.created_at")


def origin_data(revision: Revision) -> dict[str, Any] | None:
    """The origin of a revision as JSON; ``None`` if it was not imported."""
    imported = imported_version(revision)
    return ImportedVersionSerializer(imported).data if imported else None
