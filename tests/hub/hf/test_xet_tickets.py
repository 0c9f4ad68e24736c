"""Xet tickets: who gets one, where it is good, and when it ends; bad bodies over HTTP."""

import time
from typing import Any

import httpx
import pytest
from django.core import signing

from registry.services.people.token import token_revoke
from registry.services.storage.xorb import xet_address_change
from registry.states import Scope
from registry.tables import MLModel, User, Xorb
from registry.xet.hashes import spelled
from tests.factories import make_mlmodel, make_token
from tests.hub.hf.xet_uploads import ClientOf, XetClient
from tests.registry.xet.packer import LZ4, file_entry, packed, root, shard
from tests.registry.xorbs import sha256_of

_CHUNK = b"galaxies " * 100
_HASH = spelled(root([_CHUNK]))


@pytest.fixture
def ours(alice: User) -> MLModel:
    """Alice's public repository."""
    return make_mlmodel("alice/m", actor=alice)


def _post(address: str, ticket: str, body: bytes = b"") -> httpx.Response:
    headers = {"Authorization": f"Bearer {ticket}"}
    return httpx.post(address, headers=headers, content=body)


def _xorb(ticket: dict[str, Any], body: bytes | None = None, **changed: Any) -> httpx.Response:
    told = ticket | changed
    address = f"{told['casUrl']}/v1/xorbs/default/{_HASH}"
    return _post(address, told["accessToken"], packed(_CHUNK, LZ4) if body is None else body)


def _ask(client: XetClient, rev: str = "main", token: str = "", **query: str) -> httpx.Response:
    return httpx.get(
        f"{client.hub_url}/api/models/alice/m/xet-write-token/{rev}",
        params=query,
        headers={"Authorization": f"Bearer {token or client.token}"},
    )


def test_a_ticket_comes_in_headers_and_as_json_and_names_the_address(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    client = xet_client_of(alice)
    answer = _ask(client)
    told = answer.json()
    assert told["casUrl"] == f"{client.hub_url}/xet/{ours.uuid}/1"
    assert answer.headers["X-Xet-Cas-Url"] == told["casUrl"]
    assert answer.headers["X-Xet-Access-Token"] == told["accessToken"]
    assert answer.headers["X-Xet-Token-Expiration"] == str(told["exp"])
    assert told["exp"] > time.time() + 3600
    assert _xorb(told).json() == {"was_inserted": True}
    assert _xorb(told).json() == {"was_inserted": False}


def test_who_may_only_read_gets_a_ticket_for_a_pull_request(
    xet_client_of: ClientOf, alice: User, bob: User, ours: MLModel
) -> None:
    bobs = xet_client_of(bob)
    assert _ask(bobs).status_code == 403
    assert _ask(bobs, "None", create_pr="1").status_code == 200
    assert _ask(bobs, "refs%2Fpr%2F1").status_code == 200
    assert _ask(bobs, token=make_token(alice, Scope.READ)).status_code == 403
    nobody = httpx.get(f"{bobs.hub_url}/api/models/alice/m/xet-write-token/main")
    assert nobody.status_code == 401
    make_mlmodel("alice/secret", actor=alice, visibility="private")
    hidden = httpx.get(
        f"{bobs.hub_url}/api/models/alice/secret/xet-write-token/main?create_pr=1",
        headers={"Authorization": f"Bearer {bobs.token}"},
    )
    assert (hidden.status_code, hidden.headers["X-Error-Code"]) == (404, "RepoNotFound")


def test_a_ticket_is_good_for_its_repository_only(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    other = make_mlmodel("alice/other", actor=alice)
    client = xet_client_of(alice)
    told = client.ticket("models/alice/m")
    elsewhere = told["casUrl"].replace(str(ours.uuid), str(other.uuid))
    assert _xorb(told, casUrl=elsewhere).status_code == 403
    assert not Xorb.objects.exists()


def test_an_old_ticket_finishes_at_its_address_and_opens_no_newer_one(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    client = xet_client_of(alice)
    old = client.ticket("models/alice/m")
    xet_address_change(mlmodel=ours)
    new = client.ticket("models/alice/m")
    assert new["casUrl"].endswith("/2")
    assert _xorb(old).status_code == 200
    # A long upload asks for new tickets and stays where it began.
    assert _xorb(new, casUrl=old["casUrl"]).status_code == 200
    assert _xorb(old, casUrl=new["casUrl"]).status_code == 403


def test_a_ticket_ends_with_time_its_token_its_person_and_their_rights(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    client = xet_client_of(alice)
    told = client.ticket("models/alice/m")
    claims = signing.loads(told["accessToken"], salt="hub.hf.xet")
    ended = signing.dumps([*claims[:3], int(time.time()) - 1], salt="hub.hf.xet")
    elsewhere = signing.dumps(claims, salt="another purpose")
    for ticket in ("x", "hpf_x", client.token, ended, elsewhere, told["accessToken"][:-1] + "!"):
        assert _xorb(told, accessToken=ticket).status_code == 401
    alice.is_active = False
    alice.save()
    assert _xorb(told).status_code == 401
    alice.is_active = True
    alice.save()
    assert _xorb(told).status_code == 200
    alice.token = alice.tokens.get()
    token_revoke(actor=alice, token_uuid=alice.token.uuid)
    assert _xorb(told).status_code == 401


def test_a_ticket_for_a_repository_that_went_private_or_away_is_worth_nothing(
    xet_client_of: ClientOf, bob: User, ours: MLModel
) -> None:
    ticket = _ask(xet_client_of(bob), "None", create_pr="1").json()
    MLModel.objects.filter(pk=ours.pk).update(visibility="private")
    assert _xorb(ticket).status_code == 404


def test_bad_bodies_are_refused_for_good(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    told = xet_client_of(alice).ticket("models/alice/m")
    whole = packed(_CHUNK, LZ4)
    for body in (b"", whole[:-1], whole + whole, packed(b"other"), packed(_CHUNK, claims=9)):
        assert _xorb(told, body).status_code == 400
    sent = _xorb(told)
    assert sent.status_code == 200
    shards = f"{told['casUrl']}/v1/shards"
    run = [(root([_CHUNK]), 0, 1)]
    for entry, status in (
        (file_entry([_CHUNK], run, sha256_of([_CHUNK])), 200),
        (file_entry([_CHUNK], run, "0" * 64), 400),
        (file_entry([_CHUNK], run, None), 400),
        (file_entry([_CHUNK], [(root([b"x"]), 0, 1)], "0" * 64), 404),
        (b"\0" * 48, 400),
    ):
        assert _post(shards, told["accessToken"], shard(entry)).status_code == status
    assert _post(shards, told["accessToken"], b"no shard").status_code == 400


def test_what_is_not_offered_is_not_found(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    client = xet_client_of(alice)
    told = client.ticket("models/alice/m")
    for path in ("/v2/shards", f"/v1/xorb-grants/default/{_HASH}", "/v1/xorbs/default/short"):
        assert _post(told["casUrl"] + path, told["accessToken"], b"x" * 100).status_code == 404
    assert httpx.post(f"{client.hub_url}/v1/telemetry", json={}).status_code == 204


def test_a_large_body_that_is_refused_is_heard_to_its_end(
    xet_client_of: ClientOf, alice: User, ours: MLModel
) -> None:
    told = xet_client_of(alice).ticket("models/alice/m")
    # Otherwise the answer would be lost with the connection, and the client would try for minutes.
    assert _xorb(told, body=b"\0" * 40_000_000, accessToken="none").status_code == 401


def test_a_small_upload_is_refused_at_once_to_who_may_not_write(
    xet_client_of: ClientOf, bob: User, ours: MLModel, tmp_path: Any
) -> None:
    (tmp_path / "f").write_bytes(_CHUNK)
    assert "403" in xet_client_of(bob).failure("models/alice/m", tmp_path / "f")
