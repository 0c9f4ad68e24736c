"""With ``--json``, standard output is one JSON document: a result, or the error."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.commands import output
from hpcfair.errors import ModelNotFound

MODEL = "/api/v1/models/lab/tiny"
JOB = {"uuid": "j1", "kind": "tune", "model": "lab/tiny", "target": "cpu", "state": "succeeded"}
DEVICE = {"name": "bench-1", "target": "cpu", "state": "active", "health": "ok"}
COMMIT = {"oid": "1" * 40, "files": []}
ITEMS: dict[str, Any] = {"items": [], "next": None}
#: Command to what the hub answers it, by method and path.
ANSWERS: dict[str, dict[str, Any]] = {
    "whoami": {"GET /api/v1/whoami": {"name": "alice"}},
    "info lab/tiny": {f"GET {MODEL}": {"name": "lab/tiny"}, f"GET {MODEL}/builds": ITEMS},
    "pull lab/tiny {}/here": {
        f"GET {MODEL}": {"name": "lab/tiny", "default_branch": "main"},
        f"GET {MODEL}/revisions/main": COMMIT,
    },
    "doi lab/tiny": {f"POST {MODEL}/doi": {**JOB, "result": {"doi": "10.5/x"}}},
    "tune lab/tiny": {f"POST {MODEL}/tune": {"items": [JOB]}},
    "principles": {"GET /api/v1/principles": ITEMS},
    "profiles delete p1": {"DELETE /api/v1/profiles/p1": {}},
    "targets": {"GET /api/v1/targets": {**ITEMS, "items": [{"slug": "cpu", "title": "A CPU"}]}},
    "devices list": {"GET /api/v1/devices": {**ITEMS, "items": [DEVICE]}},
    "devices drain bench-1": {"PATCH /api/v1/devices/bench-1": DEVICE},
    "devices code": {"POST /api/v1/device-codes": {"code": "c"}},
    "bench list": {"GET /api/v1/records": ITEMS},
    "jobs list": {"GET /api/v1/jobs": {**ITEMS, "items": [JOB]}},
    "jobs show j1": {
        "GET /api/v1/jobs/j1": JOB,
        "GET /api/v1/jobs/j1/trials": ITEMS,
        "GET /api/v1/jobs/j1/events": ITEMS,
    },
    "jobs wait j1": {"GET /api/v1/jobs/j1": JOB},
    "jobs cancel j1": {"GET /api/v1/jobs/j1": JOB, "POST /api/v1/jobs/j1/cancel": JOB},
    "load lab/tiny": {},
    "cache list": {},
    "cache verify": {},
    "logout": {},
}


@pytest.fixture
def run(client: Client) -> Callable[[str], Result]:
    return lambda line: CliRunner().invoke(cli.app, line.split(), obj=client)


@pytest.mark.parametrize("line", ANSWERS)
def test_a_result_is_one_document(
    hub: Any, run: Callable[[str], Result], resolution: dict[str, Any], tmp_path: Any, line: str
) -> None:
    for route, answer in ANSWERS[line].items():
        hub.on(*route.split(), answer)

    result = run(f"{line.format(tmp_path)} --json")

    assert result.exit_code == 0, result.output
    assert "error" not in json.loads(result.stdout)


def test_the_refusal_of_a_hub_is_a_document(
    hub: Any, run: Callable[[str], Result], answer: Callable[..., Any]
) -> None:
    hub.on("GET", "/api/v1/whoami", answer(401, "token_expired", "It expired.", "Make one."))

    result = run("whoami --json")

    assert result.exit_code == 4
    error = json.loads(result.stdout)["error"]
    assert error.pop("request_id")
    assert error == {
        "code": "token_expired",
        "message": "It expired.",
        "exit_status": 4,
        "hint": "Make one. Run `hpcfair login`, or set HPCFAIR_TOKEN.",
        "status": 401,
        "fields": {},
    }
    assert result.stderr == f"hpcfair: It expired. {error['hint']} [token_expired]\n"


@pytest.mark.parametrize("typed", ["lab/tinny", "labb/tiny"])
def test_a_mistyped_name_is_answered_with_the_nearest(
    hub: Any, run: Callable[[str], Result], answer: Callable[..., Any], client: Client, typed: str
) -> None:
    missing = answer(404, "model_not_found", "There is no such model.")
    hub.on("GET", f"/api/v1/models/{typed}", missing)
    hub.on("POST", f"/api/v1/models/{typed}/resolve", missing)
    hits = [{"name": "lab/tiny"}, {"name": "lab/other"}]

    def found(request: Any) -> Any:
        items = hits if request.url.params["q"] in {"by:lab", "tiny"} else []
        return {"items": items, "next": None, "total": len(items), "facets": {}}

    hub.on("GET", "/api/v1/models", found)

    for command in ("info", "load"):
        result = run(f"{command} {typed} --json")
        error = json.loads(result.stdout)["error"]
        assert (result.exit_code, error["hint"]) == (3, "Did you mean lab/tiny?")

    with pytest.raises(ModelNotFound, match=r"Did you mean lab/tiny\?"):
        client.load(typed)


@pytest.mark.parametrize("line", ["info --json", "jobs lst --json", "--urk info lab/tiny --json"])
def test_wrong_usage_is_a_document(run: Callable[[str], Result], line: str) -> None:
    result = run(line)

    error = json.loads(result.stdout)["error"]
    assert (error["code"], error["exit_status"], result.exit_code) == ("usage", 2, 2)
    assert "Usage" in result.stderr


def test_an_argument_that_looks_like_the_option_is_none(
    hub: Any, run: Callable[[str], Result]
) -> None:
    result = run("search -- --json")

    assert result.exit_code != 0
    assert result.stdout == ""


def test_numbers_that_json_lacks_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    output.emit_json({"a": float("nan"), "b": [float("-inf"), 1.5]})

    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5]}
