"""Whatever is sent, the answer is documented and never a defect of ours."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.states import Scope
from registry.tables import User
from tests.hub.api.client import Api
from tests.hub.api.conformance import committed
from tests.hub.api.scene import Scene

#: All but what would take the scene away.
OPERATIONS = [
    (method.upper(), template, operation)
    for template, methods in committed()["paths"].items()
    for method, operation in methods.items()
    if operation["operationId"] not in {"model_delete", "token_revoke", "member_remove"}
]

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["main", "../x", "0" * 64, "a" * 300, "\0", "\ud800", "é", "9" * 30, ""])
)
ODD = st.text(max_size=6) | st.sampled_from(
    ["..", "%2e", "a b", "\n", "\0", "'", '"', "x" * 300, "-1", "0" * 40, "hpf_x"]
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=8,
)


def mutated(example: Any) -> st.SearchStrategy[Any]:
    """The example with some of its values replaced, taken away or added."""
    if not isinstance(example, dict):
        return st.just(example) | JSON
    kept = st.fixed_dictionaries(
        {}, optional={name: mutated(value) for name, value in example.items()}
    )
    return (
        kept
        | st.just(example)
        | st.tuples(kept, st.dictionaries(ODD, JSON, max_size=1)).map(
            lambda both: both[0] | both[1]
        )
    )


def bodies(operation: dict[str, Any]) -> st.SearchStrategy[bytes]:
    content = operation.get("requestBody", {}).get("content", {})
    shown = content.get("application/json", {}).get("examples", {})
    examples = [one["value"] for one in shown.values()]
    like = st.sampled_from(examples).flatmap(mutated) if examples else JSON
    return (like | JSON).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=20)


def addresses(
    template: str, operation: dict[str, Any], known: dict[str, str]
) -> st.SearchStrategy[str]:
    parameters = operation.get("parameters", [])
    path = {p["name"]: value_of(p, known) for p in parameters if p["in"] == "path"}
    query = {p["name"]: value_of(p, known) for p in parameters if p["in"] == "query"}
    return st.builds(
        lambda path, query, odd: (
            template.format(**path)
            + "?"
            + "&".join(f"{name}={value}" for name, value in (query | odd).items())
        ),
        st.fixed_dictionaries(path),
        st.fixed_dictionaries({}, optional=query),
        st.sampled_from([{}, {}, {}, {"odd": "1"}, {"%00": "x"}]),
    )


def value_of(parameter: dict[str, Any], known: dict[str, str]) -> st.SearchStrategy[str]:
    name = parameter["name"]
    good = [known[name]] if name in known else []
    good += parameter["schema"].get("enum", [])
    odd = ODD.filter(bool).map(quoted)
    often = [st.sampled_from(good)] * 4 if good else []
    return st.one_of(*often, odd)


def quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


@pytest.fixture
def admin(charlie: User) -> Api:
    return Api(charlie, Scope.ADMIN)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_no_request_is_answered_by_a_defect(
    admin: Api, anonymous: Api, scene: Scene, data: Any
) -> None:
    method, template, operation = data.draw(st.sampled_from(OPERATIONS))
    of_what = {"builds": scene.fast, "jobs": scene.job, "trials": scene.trial}
    noun = template.split("/")[3]
    known = {
        "namespace": "lab",
        "name": "galaxy-cnn",
        "organisation": "lab",
        "username": "charlie",
        "path": "model.onnx",
        "revision": "main",
        "kind": "tag",
        "ref": "v1",
        "slug": scene.target.slug,
        "target": scene.target.slug,
        "device": "floor-1",
        "record": scene.record.pk,
        "model": "lab/galaxy-cnn",
        "limit": "1",
        **({"uuid": str(of_what[noun].uuid)} if noun in of_what else {}),
    }
    address = data.draw(addresses(template, operation, known))
    body = data.draw(bodies(operation) if "requestBody" in operation else st.just(b""))
    api = data.draw(st.sampled_from([admin, admin, anonymous]))
    # The client holds each answer against the document, and raises what a view raises.
    answer = api.send(method, address, raw=body, **{"Content-Type": "application/json"})
    assert answer.status < 500
