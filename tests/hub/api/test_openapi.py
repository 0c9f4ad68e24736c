"""The committed OpenAPI document is the API's."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from hub.api import errors, schema
from registry.errors import CODES
from registry.schemas import bench_problems
from tests.hub.api.client import Api
from tests.hub.api.conformance import committed, validator


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in committed()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


EACH = pytest.mark.parametrize(
    "operation", [pytest.param(one, id=one["operationId"]) for _, _, one in operations()]
)


def test_the_committed_document_is_what_the_views_say() -> None:
    assert committed() == schema.document(), "stale: make schema"


def test_the_document_is_valid_openapi() -> None:
    assert committed()["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(committed()).validate()


def test_operation_ids_are_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in operations()]
    assert sorted(set(ids)) == sorted(ids)


@EACH
def test_an_operation_is_explained(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert len(operation["summary"]) < 100
    assert operation["tags"]
    assert operation["security"]
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            assert parameter["description"]


@EACH
def test_an_operation_shows_examples_that_fit_its_schema(operation: dict[str, Any]) -> None:
    bodies = [operation["requestBody"]] if "requestBody" in operation else []
    bodies += [answer for code, answer in operation["responses"].items() if code != "default"]
    for body in bodies:
        for media_type, content in body.get("content", {}).items():
            if media_type != "application/json":
                continue
            assert content["examples"]
            for shown in content["examples"].values():
                faults = list(validator(content["schema"]).iter_errors(shown["value"]))
                assert not faults


@EACH
def test_an_operation_admits_that_it_can_fail(operation: dict[str, Any]) -> None:
    assert operation["responses"]["default"] == {"$ref": "#/components/responses/Problem"}


def test_every_problem_code_is_listed() -> None:
    assert set(committed()["components"]["schemas"]["ProblemCodeEnum"]["enum"]) == set(CODES)
    (content_type,) = committed()["components"]["responses"]["Problem"]["content"]
    assert content_type == errors.CONTENT_TYPE


def test_tokens_of_people_and_devices_and_a_session_are_the_ways_in() -> None:
    schemes = committed()["components"]["securitySchemes"]
    assert {name: scheme["type"] for name, scheme in schemes.items()} == {
        "token": "http",
        "session": "apiKey",
        "device": "http",
    }


def test_only_agents_sign_in_with_the_token_of_a_device() -> None:
    for path, _, operation in operations():
        is_agents = path.startswith("/api/v1/agent/") and path != "/api/v1/agent/enrol"
        assert ({"device": []} in operation["security"]) == is_agents, path
        assert not is_agents or operation["security"] == [{"device": []}]


def test_writes_need_somebody_and_say_so() -> None:
    open_writes = {
        operation["operationId"]
        for _, method, operation in operations()
        if method != "get" and {} in operation["security"]
    }
    # A machine that enrols has a one-time code.
    assert open_writes == {"model_resolve", "agent_enrol"}


def test_the_example_of_a_record_is_a_record() -> None:
    content = committed()["paths"]["/api/v1/records/{record}"]["get"]["responses"]["200"]["content"]
    (shown,) = content["application/json"]["examples"].values()
    assert bench_problems(shown["value"]) == {}


def test_the_document_and_its_pages_are_served(anonymous: Api) -> None:
    assert anonymous.get("openapi.json").ok() == committed()
    page = anonymous.get("/api/docs")
    assert page.status == 200
    assert b"/api/v1/openapi.json" in anonymous.get("/api/docs?script=").content
    assert not re.search(rb'(?:src|href)="(?:https?:)?//', page.content), "needs another server"
