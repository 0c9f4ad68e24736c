"""Git LFS with wrong bytes, wrong addresses and wrong people."""

import hashlib
import os
from typing import Any

import pytest
from huggingface_hub import get_session

from hub.hf import lfs
from hub.hf.lfslink import SignedLink
from registry.selectors.storage.blob import blobs_usable
from registry.services.people.token import token_revoke
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Scope
from registry.tables import Blob, MLModel, Token, User
from tests.factories import make_mlmodel, make_token, store
from tests.hub.hf.test_lfs import PART, Batch, batch, net

__all__ = ["batch", "net"]

pytestmark = pytest.mark.django_db(transaction=True)

REPO = "alice/net"
NEW = b"never seen"


def sha256(content: bytes) -> str:
    """Its digest."""
    return hashlib.sha256(content).hexdigest()


def upload_of(answer: Any) -> Any:
    """How to send the only object of a batch's answer."""
    return answer.json()["objects"][0]["actions"]["upload"]


@pytest.mark.parametrize("body", [NEW[:-1], NEW + b"!", NEW[::-1], b""])
def test_other_bytes_than_announced_are_not_kept(
    batch: Batch, alice: User, net: MLModel, body: bytes
) -> None:
    href = upload_of(batch(alice, "upload", NEW))["href"]
    answer = get_session().put(href, content=body)
    assert answer.status_code == 400
    assert answer.json()["message"] == answer.json()["error"]
    assert not blobs_usable(alice, [sha256(NEW), sha256(body)])
    assert get_session().put(href, content=NEW).status_code == 200


def test_an_address_is_good_for_what_it_was_made_for_alone(
    batch: Batch, alice: User, net: MLModel
) -> None:
    up = upload_of(batch(alice, "upload", NEW))["href"]
    [told] = batch(alice, "download", b"weights").json()["objects"]
    down = told["actions"]["download"]["href"]
    swapped = [up.replace("/upload/", "/download/"), down.replace("/download/", "/upload/")]
    assert get_session().get(swapped[0]).status_code == 401
    assert get_session().put(swapped[1], content=b"weights").status_code == 401
    assert (
        get_session().put(up[:-1] + ("A" if up[-1] != "A" else "B"), content=NEW).status_code == 401
    )
    assert get_session().put(f"{up}/1", content=NEW).status_code == 404
    assert get_session().post(up, json={"parts": []}).status_code == 404


def test_an_address_ends_with_its_time_its_token_and_its_repository(
    batch: Batch, alice: User, net: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    href = upload_of(batch(alice, "upload", NEW))["href"]
    with monkeypatch.context() as later:
        later.setattr(lfs, "UPLOAD_S", -1)
        answer = get_session().put(href, content=NEW)
    assert (answer.status_code, Blob.objects.filter(sha256=sha256(NEW)).count()) == (401, 0)
    token_revoke(actor=alice, token_uuid=Token.objects.latest("pk").uuid)
    assert get_session().put(href, content=NEW).status_code == 401
    href = upload_of(batch(alice, "upload", NEW))["href"]
    net.delete()
    assert get_session().put(href, content=NEW).status_code == 404


def test_a_revoked_readers_address_gives_nothing_more(
    batch: Batch, alice: User, bob: User, net: MLModel
) -> None:
    [told] = batch(bob, "download", b"weights").json()["objects"]
    mlmodel_update(actor=alice, mlmodel=net, gate="manual")
    answer = get_session().get(told["actions"]["download"]["href"])
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (403, "GatedRepo")
    assert batch(bob, "download", b"weights").status_code == 403
    assert batch(None, "download", b"weights").status_code == 401


def test_objects_of_other_repositories_are_not_handed_out(
    batch: Batch, alice: User, bob: User, net: MLModel
) -> None:
    make_mlmodel("bob/own", actor=bob, visibility="private", files={"s.bin": b"bob's own"})
    [told] = batch(alice, "download", b"bob's own").json()["objects"]
    assert told["error"]["code"] == 404
    # An address for it, had alice a way to sign one, would not help her either.
    [mine] = batch(alice, "download", b"weights").json()["objects"]
    token = str(Token.objects.latest("pk").uuid)
    forged = SignedLink(token, str(net.uuid), sha256(b"bob's own"), 9).address("download")
    assert mine["actions"]
    assert get_session().get(forged).status_code == 404


def test_parts_that_do_not_make_the_file_are_refused(
    batch: Batch, alice: User, net: MLModel
) -> None:
    content = os.urandom(PART + 10)
    upload = upload_of(batch(alice, "upload", content, transfers=["multipart"]))
    first, second = upload["header"]["1"], upload["header"]["2"]
    put, post = get_session().put, get_session().post
    assert put(first, content=content[: PART - 1]).status_code == 400
    assert put(f"{upload['href']}/3", content=b"x").status_code == 400
    etags = [put(first, content=content[:PART]).headers["ETag"]]
    # Part 2 is missing, then it is forged.
    done = {"parts": [{"partNumber": 1, "etag": etags[0]}]}
    assert post(upload["href"], json=done).status_code == 400
    etags.append(put(second, content=b"forged ten").headers["ETag"])
    done["parts"].append({"partNumber": 2, "etag": etags[1]})
    assert post(upload["href"], json=done).status_code == 400
    assert not Blob.objects.filter(sha256=sha256(content)).exists()


def test_a_completion_that_makes_no_sense_is_refused(
    batch: Batch, alice: User, net: MLModel
) -> None:
    for parts in [None, "all", [1], [{"partNumber": "1", "etag": "x"}], [{"partNumber": 1}]]:
        upload = upload_of(batch(alice, "upload", os.urandom(PART + 1), transfers=["multipart"]))
        assert get_session().post(upload["href"], json={"parts": parts}).status_code == 400, parts


def test_an_object_that_cannot_be_is_refused_by_itself(
    batch: Batch, alice: User, net: MLModel, settings: Any
) -> None:
    settings.MAX_BLOB_BYTES = 1000
    store(b"known", alice)
    objects = [
        {"oid": "../../etc/passwd", "size": 1},
        {"oid": "0" * 64, "size": 1001},
        {"oid": sha256(b"known"), "size": 6},
        {"oid": sha256(NEW), "size": len(NEW)},
    ]
    told = batch(alice, "upload", *objects).json()["objects"]
    assert [one.get("error", {}).get("code") for one in told] == [422, 413, 422, None]
    assert "actions" in told[3]


def test_a_batch_that_makes_no_sense_is_refused(batch: Batch, alice: User, net: MLModel) -> None:
    for more in [
        {"operation": "delete"},
        {"objects": None},
        {"objects": [1]},
        {"objects": [{"oid": "0" * 64}]},
        {"objects": [{"oid": "0" * 64, "size": -1}]},
        {"objects": [{"oid": "0" * 64, "size": 1}] * 1001},
        {"hash_algo": "md5"},
    ]:
        answer = batch(alice, more.pop("operation", "upload"), **more)
        assert answer.status_code == 400, more
        assert answer.json()["message"]


def test_nobody_is_asked_who_they_are_and_a_reader_may_not_send(
    batch: Batch, hub_url: str, alice: User, bob: User, net: MLModel
) -> None:
    make_mlmodel("alice/hidden", actor=alice, visibility="private")
    for repo, operation in [(REPO, "upload"), ("alice/hidden", "download")]:
        answer = batch(None, operation, NEW, repo=repo)
        assert (answer.status_code, answer.headers["LFS-Authenticate"][:5]) == (401, "Basic")
    assert batch(bob, "download", NEW, repo="alice/hidden").status_code == 404
    answer = get_session().post(
        f"{hub_url}/{REPO}.git/info/lfs/objects/batch",
        json={"operation": "upload", "objects": []},
        headers={"Authorization": f"Bearer {make_token(alice, Scope.READ)}"},
    )
    assert answer.status_code == 403


def test_nobody_locks_files(hub_url: str, net: MLModel) -> None:
    answer = get_session().post(f"{hub_url}/{REPO}.git/info/lfs/locks/verify", json={})
    assert (answer.status_code, answer.json()["message"][:8]) == (404, "This hub")
