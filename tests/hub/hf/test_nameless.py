"""Names without a namespace: no repository has one, and clients are told so."""

from collections.abc import Callable

import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import RepositoryNotFoundError

from registry.tables import User
from tests.factories import make_mlmodel
from tests.hub.hf.conftest import ApiOf
from tests.hub.hf.wire import send

pytestmark = pytest.mark.django_db(transaction=True)

_FILE = b"content"
_READS: dict[str, Callable[[HfApi], object]] = {
    "info": lambda api: api.model_info("gpt2"),
    "revision": lambda api: api.model_info("gpt2", revision="main"),
    "dataset": lambda api: api.dataset_info("squad"),
    "tree": lambda api: list(api.list_repo_tree("gpt2", "folder", recursive=True)),
    "paths": lambda api: api.get_paths_info("gpt2", "config.json"),
    "refs": lambda api: api.list_repo_refs("gpt2"),
    "commits": lambda api: api.list_repo_commits("gpt2"),
    "likers": lambda api: list(api.list_repo_likers("gpt2")),
    "discussions": lambda api: list(api.get_repo_discussions("gpt2")),
    "discussion": lambda api: api.get_discussion_details("gpt2", 1),
    "access": lambda api: api.auth_check("gpt2"),
    "file": lambda api: api.hf_hub_download("gpt2", "config.json"),
    "dataset file": lambda api: api.hf_hub_download("squad", "a.csv", repo_type="dataset"),
    "snapshot": lambda api: api.snapshot_download("gpt2"),
    "requests": lambda api: list(api.list_pending_access_requests("gpt2")),
}
_WRITES: dict[str, Callable[[HfApi], object]] = {
    "unlike": lambda api: api.unlike("gpt2"),
    "branch": lambda api: api.create_branch("gpt2", branch="x"),
    "tag": lambda api: api.create_tag("gpt2", tag="x"),
    "squash": lambda api: api.super_squash_history("gpt2"),
    "settings": lambda api: api.update_repo_settings("gpt2", gated="auto"),
    "upload": lambda api: api.upload_file(
        path_or_fileobj=_FILE, path_in_repo="a.txt", repo_id="gpt2"
    ),
    "discussion": lambda api: api.create_discussion("gpt2", "title"),
    "comment": lambda api: api.comment_discussion("gpt2", 1, "text"),
    "duplicate": lambda api: api.duplicate_repo("gpt2", "alice/gpt2"),
}


@pytest.mark.parametrize("read", _READS.values(), ids=list(_READS))
def test_no_read_finds_a_repository(api_of: ApiOf, read: Callable[[HfApi], object]) -> None:
    with pytest.raises(RepositoryNotFoundError) as error:
        read(api_of())
    assert error.value.response.status_code == 404


@pytest.mark.parametrize("write", _WRITES.values(), ids=list(_WRITES))
def test_no_write_finds_one(api_of: ApiOf, alice: User, write: Callable[[HfApi], object]) -> None:
    with pytest.raises(RepositoryNotFoundError) as error:
        write(api_of(alice))
    assert error.value.response.status_code == 404


def test_addresses_that_clients_do_not_use_have_the_code_as_well(hub_url: str, alice: User) -> None:
    for method, path in [
        ("POST", "api/models/gpt2/like"),
        ("HEAD", "gpt2/resolve/main/config.json"),
        ("HEAD", "datasets/squad/resolve/main/a/b.csv"),
        ("POST", "gpt2.git/info/lfs/objects/batch"),
    ]:
        answer = send(hub_url, alice, path, {}, method)
        assert (answer.status_code, answer.headers["X-Error-Code"]) == (404, "RepoNotFound"), path


def test_a_repository_named_like_an_address_is_still_there(
    api_of: ApiOf, alice: User, hub_url: str
) -> None:
    for name in ["resolve", "like", "refs"]:
        make_mlmodel(f"alice/{name}", actor=alice, files={"a.txt": "a"})
        api = api_of(alice)
        assert api.model_info(f"alice/{name}").id == f"alice/{name}"
        assert len(api.list_repo_files(f"alice/{name}")) == 2
        assert send(hub_url, None, f"alice/{name}/tree/main", method="GET").status_code == 200
        refused = send(hub_url, alice, f"api/models/alice/{name}", {}, "POST")
        assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")
