"""Who is asking: tokens, sessions, nobody."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from registry.services.people.token import token_revoke
from registry.states import Scope
from registry.tables import MLModel, Namespace, Token, User
from tests.factories import PASSWORD, make_token
from tests.hub.api.client import Api


def test_a_token_tells_whose_it_is(alice: User) -> None:
    told = Api(alice, Scope.READ).get("whoami").ok()
    assert told["name"] == "alice"
    assert told["full_name"] == "Alice Adams"
    assert told["namespaces"] == [{"name": "alice", "kind": "user", "role": "admin"}]
    assert told["token"]["scope"] == "read"
    assert told["token"]["expires_at"] is None


def test_nobody_is_asked_to_sign_in(anonymous: Api) -> None:
    answer = anonymous.get("whoami")
    assert (answer.status, answer.code) == (401, "not_authenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


@pytest.mark.parametrize("path", ["whoami", "models", "targets"])
@pytest.mark.parametrize("secret", ["hpf_x", "", "hpf_" + "a" * 38, "hf_" + "b" * 34, "é"])
def test_an_unknown_token_is_refused_even_where_none_is_needed(
    db: None, path: str, secret: str
) -> None:
    answer = Api(secret=secret or " ").get(path)
    assert (answer.status, answer.code) == (401, "token_invalid")
    assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"]


def test_a_revoked_token_is_refused(alice: User) -> None:
    api = Api(alice)
    token_revoke(actor=alice, token_uuid=Token.objects.get().uuid)
    answer = api.get("whoami")
    assert (answer.status, answer.code) == (401, "token_revoked")


def test_an_expired_token_is_refused(alice: User) -> None:
    api = Api(alice)
    Token.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = api.get("whoami")
    assert (answer.status, answer.code) == (401, "token_expired")


def test_a_reading_token_writes_nothing(charlie: User, galaxy: MLModel) -> None:
    reader = Api(charlie, Scope.READ)
    writes = [
        reader.post("models", {"namespace": "lab", "name": "other"}),
        reader.patch("models/lab/galaxy-cnn", {"visibility": "private"}),
        reader.delete("models/lab/galaxy-cnn"),
        reader.put("models/lab/galaxy-cnn/refs/tag/v1", {"revision": "main"}),
        reader.upload(b"bytes", "0" * 64),
        reader.post("tokens", {"name": "another"}),
        reader.post("organisations", {"name": "another"}),
    ]
    for answer in writes:
        assert (answer.status, answer.code) == (403, "scope_missing")
        assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]


def test_a_token_of_one_namespace_stays_in_it(charlie: User, secret: MLModel) -> None:
    own = Namespace.objects.get(name="charlie")
    limited = Api(secret=make_token(charlie, Scope.WRITE, namespace=own))
    assert limited.get("models/lab/secret").code == "model_not_found"
    assert limited.get("whoami").ok()["namespaces"] == [
        {"name": "charlie", "kind": "user", "role": "admin"}
    ]
    assert limited.post("models", {"namespace": "charlie", "name": "mine"}).status == 201


def test_other_schemes_are_somebody_elses_business(anonymous: Api) -> None:
    assert anonymous.get("targets", Authorization="Basic YTpi").status == 200


def test_a_session_reads_and_writes_with_its_csrf_token(alice: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    assert browser.login(username="alice", password=PASSWORD)
    assert browser.get("/api/v1/whoami").json()["token"] is None
    body = {"namespace": "alice", "name": "digits"}
    refused = browser.post("/api/v1/models", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")

    secret = "a" * 32
    browser.cookies["csrftoken"] = secret
    made = browser.post(
        "/api/v1/models", body, content_type="application/json", headers={"X-CSRFToken": secret}
    )
    assert made.status_code == 201


def test_a_persons_token_ends_with_their_account(alice: User) -> None:
    api = Api(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert api.get("whoami").code == "token_invalid"
