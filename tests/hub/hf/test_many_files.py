"""Repositories with many files, through the real clients: complete lists, in short answers."""

from pathlib import Path

import pytest

from hpcfair.config import Config
from hpcfair.mlmodel import info
from hpcfair.revision import revision
from hpcfair.transport import Transport
from registry.selectors.repository.file import MAX_LISTED
from registry.services.repository.revision import Add, commit
from registry.tables import Namespace, User
from tests.factories import make_mlmodel, store
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)

ID = "lab/galaxy-cnn"


@pytest.fixture
def paths(charlie: User, lab: Namespace) -> set[str]:
    """All paths of :data:`ID`: more than are listed at once."""
    mlmodel = make_mlmodel(ID, actor=charlie)
    same = store(b"the same", charlie)
    paths = {f"{one % 7}/{one:05}.dat" for one in range(MAX_LISTED + 50)}
    commit(
        actor=charlie,
        mlmodel=mlmodel,
        message="Add all",
        operations=[Add(path, same.sha256) for path in sorted(paths)],
        is_checked=False,
    )
    return {*paths, ".gitattributes"}


def test_the_stock_client_reads_the_pages_of_the_tree(
    api_of: ApiOf, charlie: User, paths: set[str]
) -> None:
    api = api_of(charlie)
    assert api.model_info(ID).siblings is None
    assert api.model_info(ID, files_metadata=True).siblings is None
    (listed,) = api.list_models(author="lab", full=True)
    assert listed.siblings is None
    assert sorted(api.list_repo_files(ID)) == sorted(paths)


def test_our_client_reads_the_pages_of_files(hub_url: str, tmp_path: Path, paths: set[str]) -> None:
    with Transport(Config(hub_url, None, tmp_path / "cache")) as http:
        answer = http.get(f"/api/v1/models/{ID}")
        assert len(answer["files"]) == MAX_LISTED
        assert answer["files_next"]
        assert {file.path for file in info(http, ID).files} == paths
        files = revision(http, ID, "main").files
        assert len(files) == len(paths)
        assert [file.path for file in files] == sorted(paths)
