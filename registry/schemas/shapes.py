"""Building blocks of the JSON Schemas that are written in Python: bounded texts, numbers, lists."""

from typing import Any

from registry.states import (
    ArchitectureClass,
    ToleranceClass,
    TrialOutcome,
)

Schema = dict[str, Any]

#: Largest integer of a column; databases hold 64 bits with a sign.
_LARGEST = 2**62
_LONGEST_S = 1e7
_LARGEST_RATIO = 1e6
#: Most items of a list: about as many as fit into a document of the largest allowed size.
_MOST_ITEMS = 100_000


def closed(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def text(most: int, least: int = 0) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most}


def listing(item: Schema, most: int = _MOST_ITEMS, least: int = 0) -> Schema:
    return {"type": "array", "items": item, "minItems": least, "maxItems": most}


def mapping(value: Schema, most: int = 1000) -> Schema:
    return {"type": "object", "additionalProperties": value, "maxProperties": most}


def choice(values: list[str]) -> Schema:
    return {"enum": list(values)}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$", "maxLength": 64}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": _LARGEST}
NUMBER: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
SECONDS: Schema = {"type": "number", "minimum": 0, "maximum": _LONGEST_S}
DURATION: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": _LONGEST_S}
RATIO: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": _LARGEST_RATIO}
PER_SECOND: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1e15}
NANOSECONDS: Schema = {"type": "integer", "minimum": 1, "maximum": _LARGEST}
ACCURACY: Schema = {"type": "number", "minimum": 0, "maximum": 1}
FLOAT: Schema = {"type": "number", "minimum": -1e300, "maximum": 1e300}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
ANY_LIST: Schema = {"type": "array", "maxItems": _MOST_ITEMS}
UUID: Schema = {"type": "string", "format": "uuid", "minLength": 32, "maxLength": 36}
VERSIONS = mapping(text(200))
TOOLCHAIN = text(64, 1)
DETAIL = text(1_000_000)
OPTIONS = mapping({"type": ["string", "number", "boolean"]}, 200)
CANDIDATE = closed({"backend": text(32, 1), "options": OPTIONS})
OUTCOME = choice(TrialOutcome.values)
TOLERANCE = choice(ToleranceClass.values)
CLASS = choice(ArchitectureClass.values)
_SAMPLES: Schema = {"type": "array", "items": NANOSECONDS, "maxItems": _MOST_ITEMS}
#: The raw samples of a trial. Other members of the engine's measurement are not checked.
MEASUREMENT: Schema = {
    "type": "object",
    "properties": {
        "blocks": {
            "type": "array",
            "maxItems": _MOST_ITEMS,
            "items": {
                "type": "object",
                "properties": {"candidate_ns": _SAMPLES, "baseline_ns": _SAMPLES},
            },
        },
        "quality": OBJECT,
    },
}
DISTANCE: Schema = {"type": "number", "minimum": -1, "maximum": 1e300}
DEVIATION = closed(
    {}, dict.fromkeys(("max_absolute", "max_relative", "relative_l2", "cosine"), DISTANCE)
)
#: Of a build; also on random inputs beside the samples.
BUILD_DEVIATION = closed({}, {**DEVIATION["properties"], "random_relative_l2": DISTANCE})
