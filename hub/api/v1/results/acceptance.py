"""Limits of the outputs of builds in requests: a tolerance class, an error, an accuracy."""

from math import isnan
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from hub.api.views import Strict
from registry.states import ToleranceClass


@extend_schema_field(
    {
        "oneOf": [
            {"$ref": "#/components/schemas/ToleranceEnum"},
            {"type": "number", "minimum": 0, "maximum": 1},
        ]
    }
)
class ToleranceField(serializers.Field[Any, Any, Any, Any]):
    """A tolerance class, or the largest relative error as a number from 0 to 1."""

    def to_internal_value(self, data: Any) -> str | float:
        if data in ToleranceClass.values:
            return str(data)
        # A truth value is an integer in Python.
        if isinstance(data, int | float) and not isinstance(data, bool) and 0 <= data <= 1:
            return float(data)
        classes = ", ".join(ToleranceClass.values)
        raise serializers.ValidationError(f"Give one of {classes}, or a number from 0 to 1.")


class QueryToleranceField(ToleranceField):
    """The same in the query of an address, where numbers are texts."""

    def to_internal_value(self, data: Any) -> str | float:
        try:
            return super().to_internal_value(float(data))
        except ValueError:
            return super().to_internal_value(data)


class MinAccuracyField(serializers.FloatField):
    """The least accuracy of a build on the model's labelled samples, from 0 to 1."""

    def __init__(self, **options: Any) -> None:
        text = "Least accuracy of a build on the model's labelled samples."
        super().__init__(min_value=0, max_value=1, help_text=text, **options)

    def to_internal_value(self, data: Any) -> float:
        # A truth value is a number in Python, and NaN passes the comparisons with the limits.
        value = super().to_internal_value(data)
        if isinstance(data, bool) or isnan(value):
            raise serializers.ValidationError("Give a number from 0 to 1.")
        return value


class AcceptanceSerializer(Strict):
    """Limits of the outputs of a build."""

    tolerance = ToleranceField(
        required=False,
        help_text="Laxest tolerance class, or largest relative error. Without it `exact`, or "
        "with `min_accuracy` any class.",
    )
    min_accuracy = MinAccuracyField(default=None, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Set the default of ``tolerance``, which depends on ``min_accuracy``."""
        default = ToleranceClass.values[0 if attrs["min_accuracy"] is None else -1]
        return {"tolerance": default, **attrs}
