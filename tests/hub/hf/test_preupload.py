"""What a client is told before it uploads."""

import hashlib
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, get_session

from registry.selectors.repository.revision import revision_get
from registry.storage.git import blob_oid
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel, make_token
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.contents import contents
from tests.hub.hf.wire import send

pytestmark = pytest.mark.django_db(transaction=True)

REPO = "alice/net"
ADDRESS = f"api/models/{REPO}/preupload"


@pytest.fixture
def net(alice: User) -> MLModel:
    """alice's ``alice/net``, whose .gitattributes and .gitignore know some words."""
    attributes = b"*.bin filter=lfs\nraw.bin -filter\n"
    files = {".gitattributes": attributes, ".gitignore": b"*.log\n/tmp/\n", "a.txt": b"a"}
    mlmodel = make_mlmodel(REPO, actor=alice, files=files)
    commit_files(mlmodel, {"w.bin": b"weights"}, actor=alice)
    return mlmodel


def ask(hub_url: str, user: User | None, *files: Any, rev: str = "main", **more: Any) -> Any:
    """The answer for files given as path or as path and size."""
    named = [file if isinstance(file, tuple) else (file, 1) for file in files]
    offers = [{"path": path, "size": size, "sample": "eA=="} for path, size in named]
    return send(hub_url, user, f"{ADDRESS}/{rev}", {"files": offers, **more})


def test_attributes_and_size_decide_how_a_file_is_sent(
    hub_url: str, alice: User, net: MLModel
) -> None:
    files = [("w.bin", 1), ("x/w.bin", 1), ("raw.bin", 1), ("w.txt", 1), ("e.bin", 0)]
    files += [("w.txt2", 10_000_000), ("w.txt3", 10_000_001)]
    told = ask(hub_url, alice, *files).json()["files"]
    assert [(one["path"], one["uploadMode"]) for one in told] == [
        ("w.bin", "lfs"),
        ("x/w.bin", "lfs"),
        ("raw.bin", "regular"),
        ("w.txt", "regular"),
        ("e.bin", "regular"),
        ("w.txt2", "regular"),
        ("w.txt3", "lfs"),
    ]


def test_what_lies_there_is_named_in_the_way_it_would_be_sent(
    hub_url: str, alice: User, net: MLModel
) -> None:
    sha256, oid = hashlib.sha256(b"weights").hexdigest(), blob_oid(b"weights")
    told = ask(hub_url, alice, "a.txt", "w.bin", "new.txt").json()["files"]
    assert [one["oid"] for one in told] == [blob_oid(b"a"), sha256, None]
    # As it would be sent now, however it was sent then.
    commit_files(net, {".gitattributes": b""}, actor=alice)
    assert ask(hub_url, alice, "w.bin").json()["files"][0]["oid"] == oid


def test_the_attributes_of_the_revision_count(hub_url: str, alice: User, net: MLModel) -> None:
    old = revision_get(net)
    net.refs.create(kind="branch", name="old/er", revision=old)
    commit_files(net, {".gitattributes": b"*.txt filter=lfs\n"}, actor=alice)
    modes = [
        ask(hub_url, alice, "new.txt", rev=rev).json()["files"][0]["uploadMode"]
        for rev in ("main", "old%2Fer")
    ]
    assert modes == ["lfs", "regular"]


def test_files_to_ignore_are_those_of_the_list_given_else_of_the_revisions(
    hub_url: str, alice: User, net: MLModel
) -> None:
    files = ["a.log", "tmp/x", "b.txt"]

    def ignored(**more: Any) -> list[bool]:
        told = ask(hub_url, alice, *files, **more).json()["files"]
        return [one["shouldIgnore"] for one in told]

    assert ignored() == [True, True, False]
    assert ignored(gitIgnore="*.txt\n") == [False, False, True]
    assert ignored(gitIgnore="") == [False, False, False]


def test_the_client_leaves_out_what_is_ignored(api_of: ApiOf, alice: User, net: MLModel) -> None:
    files = [CommitOperationAdd(path, b"x") for path in ("x.log", "tmp/x.txt", "kept.txt")]
    api_of(alice).create_commit(REPO, operations=files, commit_message="Some")
    assert set(contents(net)) == {".gitignore", "a.txt", "w.bin", "kept.txt"}


def test_a_path_that_cannot_be_is_refused_before_anything_is_sent(
    hub_url: str, alice: User, net: MLModel
) -> None:
    for path in ["..\\x", "../x", "/x", "a//b", "", ".git/x", "x" * 2000]:
        answer = ask(hub_url, alice, "good.txt", path)
        assert answer.status_code == 422, path
        assert "is not a valid file path" in answer.headers["X-Error-Message"]


def test_a_question_that_makes_no_sense_is_refused(hub_url: str, alice: User, net: MLModel) -> None:
    for body in [
        {},
        {"files": "all"},
        {"files": ["a.txt"]},
        {"files": [{"path": "a", "size": -1}]},
        {"files": [{"path": "a", "size": True}]},
        {"files": [{"path": "a", "size": 1.5}]},
        {"files": [{"path": "a", "size": 2**63}]},
        {"files": [{"path": ["a"], "size": 1}]},
        {"files": [], "gitIgnore": ["*.log"]},
        {"files": [], "gitIgnore": "x\n" * 3000},
        {"files": [{"path": str(n), "size": 1} for n in range(257)]},
        ["files"],
    ]:
        assert send(hub_url, alice, f"{ADDRESS}/main", body).status_code == 400, body


def test_only_those_who_could_commit_are_told(
    hub_url: str, alice: User, bob: User, net: MLModel
) -> None:
    assert ask(hub_url, None, "a").status_code == 401
    assert ask(hub_url, bob, "a").status_code == 403
    assert ask(hub_url, bob, "a", rev="main?create_pr=1").status_code == 200
    for rev in ("gone", "refs%2Fpr%2F1", revision_get(net).oid, "gone?create_pr=1"):
        answer = ask(hub_url, alice, "a", rev=rev)
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (404, "RevisionNotFound")


def test_a_huge_body_is_refused_and_answered(hub_url: str, alice: User, net: MLModel) -> None:
    answer = get_session().post(
        f"{hub_url}/{ADDRESS}/main",
        content=b" " * (5 << 20),
        headers={"Authorization": f"Bearer {make_token(alice)}"},
    )
    assert answer.status_code == 413
