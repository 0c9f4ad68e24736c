"""Every answer any test of the API gets is held against the committed OpenAPI document."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator, FormatChecker

import hub.api

COMMITTED = Path(hub.api.__file__).parent / "openapi.yaml"


@cache
def committed() -> dict[str, Any]:
    """The document in the repository."""
    # A tenth of what the safe loader written in Python takes, in every process that has tests.
    document: dict[str, Any] = yaml.load(COMMITTED.read_bytes(), yaml.CSafeLoader)
    return document


def validator(shape: dict[str, Any]) -> Draft202012Validator:
    """A validator of a schema that may refer to the document's components."""
    whole = {**shape, "components": committed()["components"]}
    return Draft202012Validator(whole, format_checker=FormatChecker())


def check_answer(method: str, path: str, status: int, content_type: str, body: Any) -> None:
    """Assert that the document allows this answer to this request.

    Addresses the document does not have are not looked at: their answers are problems.
    """
    operation = _operation(method, path.partition("?")[0])
    if operation is None:
        return
    documented = operation["responses"]
    if str(status) not in documented:
        assert status >= 400, f"{operation['operationId']} does not document {status}"
        check_problem(content_type, body)
    elif content_type == "application/json":
        faults = [error.message for error in _answers(operation, str(status)).iter_errors(body)]
        assert not faults, (operation["operationId"], faults)


def check_problem(content_type: str, body: Any) -> None:
    """Assert that the body, if there is one, is a problem document."""
    if body is not None:
        assert content_type == "application/problem+json"
        _problem().validate(body)


def _operation(method: str, path: str) -> dict[str, Any] | None:
    for pattern, methods in _patterns():
        if pattern.fullmatch(path):
            found: dict[str, Any] | None = methods.get(method.lower())
            return found
    return None


@cache
def _patterns() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    # Fixed addresses before those with parameters, so that blobs/missing is no blob.
    paths = sorted(committed()["paths"].items(), key=lambda item: item[0].count("{"))
    return [(_pattern(template), methods) for template, methods in paths]


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", template)
    long = {"{path}", "{revision}", "{ref}", "{device}", "{identifier}"}
    return re.compile(
        "".join(
            (".+" if part in long else "[^/]+") if part.startswith("{") else re.escape(part)
            for part in parts
        )
    )


_validators: dict[tuple[str, str], Draft202012Validator] = {}


def _answers(operation: dict[str, Any], status: str) -> Draft202012Validator:
    key = (operation["operationId"], status)
    if key not in _validators:
        shape = operation["responses"][status]["content"]["application/json"]["schema"]
        _validators[key] = validator(shape)
    return _validators[key]


@cache
def _problem() -> Draft202012Validator:
    return validator({"$ref": "#/components/schemas/Problem"})
