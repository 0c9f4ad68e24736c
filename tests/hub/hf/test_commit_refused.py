"""Commits that must not be, and how the client learns of it."""

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, get_session
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from registry.selectors.repository.revision import revision_get
from registry.states import Scope
from registry.storage.git import lfs_pointer
from registry.tables import Discussion, File, MLModel, Ref, Revision, User
from tests.factories import make_mlmodel, make_token, store
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.contents import contents, large_paths
from tests.hub.hf.wire import status_of

pytestmark = pytest.mark.django_db(transaction=True)

REPO = "alice/net"
STALE = "The branch was updated since you opened this page. Please refresh and try again."
GONE = "A file with this name doesn't exist"
Commit = Callable[..., Any]


@pytest.fixture
def net(alice: User) -> MLModel:
    """alice's ``alice/net`` of two files."""
    return make_mlmodel(REPO, actor=alice, files={"a.txt": b"a", "data/b.txt": b"b"})


@pytest.fixture
def send(hub_url: str, alice: User, net: MLModel) -> Commit:
    """Posts lines to a commit address as alice; no client would send what these tests send."""
    token = make_token(alice)

    def post(*lines: dict[str, Any] | bytes, rev: str = "main", header: Any = None) -> Any:
        first = {"key": "header", "value": header or {"summary": "Change"}}
        body = b"\n".join(
            line if isinstance(line, bytes) else json.dumps(line).encode()
            for line in (first, *lines)
        )
        return get_session().post(
            f"{hub_url}/api/models/{REPO}/commit/{rev}",
            content=body,
            headers={"Authorization": f"Bearer {token}"},
        )

    return post


def file(path: str, content: bytes = b"x") -> dict[str, Any]:
    """The line of a file."""
    encoded = base64.b64encode(content).decode()
    return {"key": "file", "value": {"path": path, "content": encoded, "encoding": "base64"}}


def large(path: str, oid: str, **more: Any) -> dict[str, Any]:
    """The line of a large file."""
    return {"key": "lfsFile", "value": {"path": path, "algo": "sha256", "oid": oid, **more}}


def trace() -> tuple[int, ...]:
    """How many rows there are of what a commit writes."""
    return tuple(table.objects.count() for table in (Revision, File, Ref, Discussion))


PATHS = [
    ("../up.txt", 422),
    ("/etc/passwd", 422),
    ("a/../../b", 422),
    ("..\\up.txt", 422),
    ("a//b", 422),
    (".git/config", 422),
    ("", 422),
    ("nul\0.txt", 422),
    ("x" * 2000, 422),
    ("A.TXT", 400),
    ("Data/new.txt", 400),
    ("a.txt/below", 422),
]


def test_a_path_that_some_file_system_misreads_is_refused(send: Commit) -> None:
    for path, status in PATHS:
        before = trace()
        answer = send(file("good.txt"), file(path))
        assert (answer.status_code, trace()) == (status, before), path
        assert answer.json()["error"]


def test_two_new_files_that_differ_by_case_are_refused(send: Commit) -> None:
    before = trace()
    answer = send(file("New.txt"), file("new.txt"))
    assert (answer.status_code, trace()) == (400, before)


def test_of_two_lines_for_one_path_the_later_counts(send: Commit, net: MLModel) -> None:
    lines = [{"key": "deletedFile", "value": {"path": "a.txt"}}, file("a.txt"), file("a.txt", b"y")]
    assert send(*lines).status_code == 200
    assert contents(net)["a.txt"] == b"y"


def test_a_large_file_must_have_been_sent_by_its_committer_with_that_size(
    send: Commit, alice: User, bob: User
) -> None:
    mine, others = store(b"mine", alice).sha256, store(b"bob's own", bob).sha256
    before = trace()
    refused = [
        send(large("w.bin", hashlib.sha256(b"never sent").hexdigest(), size=10)),
        send(large("w.bin", others, size=9)),
        send(large("w.bin", mine, size=5)),
        send(large("w.bin", "no digest", size=5)),
        send(large("w.bin", mine, size=-1)),
        send(large("w.bin", mine, size="4")),
        send(large("w.bin", mine) | {"value": {"path": "w.bin", "algo": "md5", "oid": mine}}),
    ]
    assert [answer.status_code for answer in refused] == [400] * len(refused)
    assert "were not uploaded" in refused[0].json()["error"]
    assert "was announced with 5 bytes, its content has 4" in refused[2].json()["error"]
    assert trace() == before
    assert send(large("w.bin", mine, size=4)).status_code == 200


def test_a_pointer_needs_its_object_and_then_stands_for_it(
    send: Commit, net: MLModel, alice: User, bob: User
) -> None:
    before = trace()
    secret, own = store(b"bob's own", bob), store(b"weights", alice)
    for sha256, size in [(secret.sha256, 9), ("0" * 64, 1), (own.sha256, 8)]:
        answer = send(file("w.ckpt2", lfs_pointer(sha256, size)))
        assert (answer.status_code, trace()) == (400, before)
    assert send(file("w.ckpt2", lfs_pointer(own.sha256, 7))).status_code == 200
    assert contents(net)["w.ckpt2"] == b"weights"
    assert large_paths(net) == {"w.ckpt2"}


def test_a_commit_on_a_stale_parent_is_refused_in_the_hubs_words(
    api_of: ApiOf, alice: User, net: MLModel
) -> None:
    api, stale = api_of(alice), revision_get(net).oid
    head = api.upload_file(repo_id=REPO, path_or_fileobj=b"1", path_in_repo="1.txt").oid
    add = [CommitOperationAdd("2.txt", b"2")]
    with pytest.raises(HfHubHTTPError, match=STALE) as caught:
        api.create_commit(REPO, operations=add, commit_message="-", parent_commit=stale)
    assert status_of(caught) == 412
    assert revision_get(net).oid == head
    add = [CommitOperationAdd("2.txt", b"2")]
    api.create_commit(REPO, operations=add, commit_message="-", parent_commit=head[:8])


def test_of_two_commits_at_once_on_one_parent_one_is_made(
    api_of: ApiOf, alice: User, net: MLModel
) -> None:
    api, parent = api_of(alice), revision_get(net).oid
    begin, statuses = threading.Barrier(2), []

    def run(number: int) -> None:
        add = [CommitOperationAdd(f"{number}.txt", b"x")]
        begin.wait()
        try:
            api.create_commit(REPO, operations=add, commit_message="-", parent_commit=parent)
            statuses.append(200)
        except HfHubHTTPError as error:
            statuses.append(error.response.status_code)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 412]
    assert revision_get(net).parent == Revision.objects.get(oid=parent)


def test_a_commit_whose_answer_was_lost_may_be_sent_again(send: Commit, net: MLModel) -> None:
    head = revision_get(net).oid
    lines = [file("n.txt"), {"key": "deletedFile", "value": {"path": "a.txt"}}]
    header = {"summary": "Once", "parentCommit": head}
    first = send(*lines, header=header)
    again = send(*lines, header=header)
    assert (first.status_code, again.json()) == (200, first.json())
    # Not what anybody else asks for on the same parent.
    assert send(file("n.txt", b"other"), header=header).status_code == 412
    assert send(*lines, header=header | {"summary": "Twice"}).status_code == 412


def test_what_is_not_there_cannot_be_deleted_or_copied(
    api_of: ApiOf, alice: User, net: MLModel, send: Commit
) -> None:
    api = api_of(alice)
    for path in ("gone.txt", "gone/", "dat", "a.txt/b"):
        with pytest.raises(EntryNotFoundError, match=GONE):
            api.create_commit(
                REPO, operations=[CommitOperationDelete(path)], commit_message="Delete"
            )
    copy = {"path": "c.txt", "srcPath": "gone.txt", "srcRevision": "main"}
    answer = send({"key": "copyFile", "value": copy})
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (404, "EntryNotFound")
    answer = send({"key": "copyFile", "value": copy | {"srcRevision": "gone"}})
    assert (answer.status_code, answer.headers["X-Error-Code"]) == (404, "RevisionNotFound")
    assert send({"key": "copyFile", "value": copy | {"srcPath": "a.txt"}}).status_code == 200


def test_a_commit_goes_to_branches_alone(api_of: ApiOf, alice: User, net: MLModel) -> None:
    api = api_of(alice)
    api.create_tag(REPO, tag="v1")
    for rev in (revision_get(net).oid, "v1", "gone", "refs/pr/7"):
        with pytest.raises(RevisionNotFoundError):
            api.upload_file(repo_id=REPO, path_or_fileobj=b"x", path_in_repo="x", revision=rev)


def test_only_those_who_may_write_commit(
    api_of: ApiOf, alice: User, bob: User, net: MLModel
) -> None:
    before = trace()
    upload: dict[str, Any] = {"repo_id": REPO, "path_or_fileobj": b"x", "path_in_repo": "x"}
    for api, status in [(api_of(bob), 403), (api_of(alice, Scope.READ), 403), (api_of(), 401)]:
        with pytest.raises(HfHubHTTPError) as caught:
            api.upload_file(**upload)
        assert status_of(caught) == status
    make_mlmodel("alice/hidden", actor=alice, visibility="private")
    with pytest.raises(RepositoryNotFoundError):
        api_of(bob).upload_file(**upload | {"repo_id": "alice/hidden"})
    assert trace()[3] == before[3]


def test_a_proposal_that_fails_opens_no_pull_request(
    api_of: ApiOf, bob: User, net: MLModel
) -> None:
    before = trace()
    with pytest.raises(EntryNotFoundError):
        api_of(bob).delete_file("gone.txt", REPO, create_pr=True)
    assert trace() == before


def test_a_line_that_says_nothing_refuses_all(send: Commit, net: MLModel) -> None:
    for line in [
        b"no json",
        b"[1]",
        b'{"key": "file", "value": []}',
        b'{"key": "teleport", "value": {"path": "x"}}',
        b'{"key": "file", "value": {"path": "x"}}',
        b'{"key": "file", "value": {"path": "x", "content": "!!!!"}}',
        b'{"key": "file", "value": {"path": "x", "content": "abc"}}',
        b'{"key": "file", "value": {"path": "x", "content": "eA==", "content": "eQ=="}}',
        b'{"key": "file", "value": {"path": "x", "content": "eA==", "encoding": "utf-8"}}',
        b'{"key": "file", "value": {"path": 1, "content": "eA=="}}',
        b'{"key": "header", "value": {"summary": "twice"}}',
        b"[" * 50_000,
    ]:
        before = trace()
        answer = send(file("good.txt"), line)
        assert (answer.status_code, trace()) == (400, before), line
