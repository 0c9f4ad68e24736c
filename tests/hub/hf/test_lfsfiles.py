"""Large files listed and deleted by the real client."""

from typing import Any

import pytest
from huggingface_hub.errors import HfHubHTTPError

from registry.selectors.repository.revision import files_of, revision_get
from registry.tables import MLModel, User
from tests.factories import commit_files, make_mlmodel
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send, status_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def net(alice: User) -> MLModel:
    mlmodel = make_mlmodel("alice/net", actor=alice)
    commit_files(mlmodel, {"checkpoints/1.bin": b"one", "final.bin": b"last"}, actor=alice)
    commit_files(mlmodel, {"checkpoints/2.bin": b"two", "a.txt": b"a"}, actor=alice)
    return mlmodel


def test_checkpoints_are_deleted_for_good(
    api_of: ApiOf, net: MLModel, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hub.hf.address._ROWS_PER_PAGE", 2)
    api, used = api_of(alice), net.used_bytes
    files = list(api.list_lfs_files("alice/net"))
    shown = {(file.filename, file.size, file.ref) for file in files}
    assert shown == {
        ("checkpoints/1.bin", 3, "refs/heads/main"),
        ("checkpoints/2.bin", 3, "refs/heads/main"),
        ("final.bin", 4, "refs/heads/main"),
    }
    doomed = [file for file in files if file.filename.startswith("checkpoints/")]
    api.permanently_delete_lfs_files("alice/net", doomed)
    assert [file.filename for file in api.list_lfs_files("alice/net")] == ["final.bin"]
    paths = {file.path for row in net.revisions.all() for file in files_of(row)}
    assert paths == {".gitattributes", "a.txt", "final.bin"}
    assert [commit.title for commit in api.list_repo_commits("alice/net")] == [
        "Change files",
        "Change files",
        "initial commit",
    ]
    net.refresh_from_db()
    assert net.used_bytes == used - 6


def test_without_rewriting_the_past_keeps_them(api_of: ApiOf, net: MLModel, alice: User) -> None:
    api, head = api_of(alice), revision_get(net).oid
    files = list(api.list_lfs_files("alice/net"))
    api.permanently_delete_lfs_files("alice/net", files, rewrite_history=False)
    assert api.list_repo_files("alice/net") == [".gitattributes", "a.txt"]
    assert api.hf_hub_download("alice/net", "final.bin", revision=head)
    assert {file.ref for file in api.list_lfs_files("alice/net")} == {None}


def test_others_neither_see_nor_delete(api_of: ApiOf, net: MLModel, alice: User, bob: User) -> None:
    files = list(api_of(alice).list_lfs_files("alice/net"))
    for api, status in ((api_of(bob), 403), (api_of(), 401)):
        with pytest.raises(HfHubHTTPError) as caught:
            list(api.list_lfs_files("alice/net"))
        assert status_of(caught) == status
        with pytest.raises(HfHubHTTPError) as caught:
            api.permanently_delete_lfs_files("alice/net", files)
        assert status_of(caught) == status
    assert len(files_of(revision_get(net))) == 5


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"deletions": []},
        {"deletions": {}},
        {"deletions": {"sha": "a" * 64}},
        {"deletions": {"sha": [7]}},
        {"deletions": {"sha": ["a" * 63], "rewriteHistory": True}},
        {"deletions": {"sha": ["a" * 64] * 1001}},
    ],
)
def test_what_names_no_files_is_refused(hub_url: str, net: MLModel, alice: User, body: Any) -> None:
    answer = send(hub_url, alice, "api/models/alice/net/lfs-files/batch", body)
    assert answer.status_code == 400
