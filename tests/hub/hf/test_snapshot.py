"""Downloading whole revisions, what the client remembers of them, and loading parts of files."""

import json
import os
import struct
from pathlib import Path

import pytest
from huggingface_hub import HfApi, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import (
    EntryNotFoundError,
    LocalEntryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import _CACHED_NO_EXIST

from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)

ID = "lab/many"
ODD = [
    "sp ace.txt",
    "per%cent%2Fno.txt",
    "plus+hash#question?.txt",
    "ünïcödé/日本語.txt",
    "a&b=c;d.txt",
    "quo'te\".txt",
    "~tilde/@at/[x]{y}.txt",
    "deep/" * 20 + "leaf.bin",
]


@pytest.fixture
def many(lab: Namespace, charlie: User) -> MLModel:
    """``lab/many``: files whose names have to be escaped, each holding its own name."""
    return make_mlmodel(ID, actor=charlie, files={path: path for path in ODD})


def _held(folder: str | Path) -> dict[str, str]:
    root = Path(folder)
    return {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and path.name != ".gitattributes" and ".cache" not in path.parts
    }


def test_every_name_arrives_as_it_was_given(api_of: ApiOf, many: MLModel, tmp_path: Path) -> None:
    api = api_of()

    cached = api.snapshot_download(ID)
    api.snapshot_download(ID, local_dir=tmp_path / "plain", allow_patterns=["*.txt"])

    assert _held(cached) == {path: path for path in ODD}
    assert set(_held(tmp_path / "plain")) == {path for path in ODD if path.endswith(".txt")}
    for verified in (
        api.verify_repo_checksums(ID),
        api.verify_repo_checksums(ID, local_dir=tmp_path / "plain"),
    ):
        assert verified.mismatches == []
        assert verified.checked_count >= len(ODD) - 1


def test_a_snapshot_is_of_the_revision_asked_for(
    api_of: ApiOf, many: MLModel, charlie: User
) -> None:
    first = revision_get(many).oid
    commit_files(many, {"sp ace.txt": "changed", "new.txt": "new"}, actor=charlie)
    api = api_of()

    assert _held(api.snapshot_download(ID, revision=first)) == {path: path for path in ODD}
    assert _held(api.snapshot_download(ID))["sp ace.txt"] == "changed"
    with pytest.raises(RevisionNotFoundError):
        api.snapshot_download(ID, revision="gone")


def test_what_was_fetched_is_found_again_without_the_hub(
    api_of: ApiOf, many: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = api_of()
    path = api.hf_hub_download(ID, ODD[0])
    folder = api.snapshot_download(ID)
    away = HfApi(endpoint="http://127.0.0.1:9", token=False)

    assert away.hf_hub_download(ID, ODD[0], local_files_only=True) == path
    assert away.hf_hub_download(ID, ODD[0], etag_timeout=0.2) == path
    assert snapshot_download(ID, local_files_only=True) == folder
    with pytest.raises(LocalEntryNotFoundError):
        away.hf_hub_download(ID, "other", local_files_only=True)


def test_bytes_are_fetched_once_for_all_revisions_that_share_them(
    api_of: ApiOf, many: MLModel, charlie: User
) -> None:
    api = api_of()
    before = api.hf_hub_download(ID, ODD[0])
    commit_files(many, {"other.txt": "x"}, actor=charlie)
    after = api.hf_hub_download(ID, ODD[0])

    assert before != after
    assert os.path.realpath(before) == os.path.realpath(after)


def test_that_a_file_is_missing_is_remembered(api_of: ApiOf, many: MLModel) -> None:
    with pytest.raises(EntryNotFoundError):
        api_of().hf_hub_download(ID, "tokenizer.model")

    oid = revision_get(many).oid
    assert try_to_load_from_cache(ID, "tokenizer.model", revision=oid) is _CACHED_NO_EXIST


def test_a_broken_file_is_found_by_its_checksum(
    api_of: ApiOf, many: MLModel, tmp_path: Path
) -> None:
    api = api_of()
    api.snapshot_download(ID, local_dir=tmp_path)
    (tmp_path / ODD[-1]).write_text("broken")
    (tmp_path / ODD[0]).unlink()

    verified = api.verify_repo_checksums(ID, local_dir=tmp_path)

    assert [mismatch["path"] for mismatch in verified.mismatches] == [ODD[-1]]
    assert verified.missing_paths == [ODD[0]]


def test_an_interrupted_download_goes_on_where_it_stopped(
    api_of: ApiOf, lab: Namespace, charlie: User, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = os.urandom(300_000)
    make_mlmodel("lab/big", actor=charlie, files={"big.bin": data})
    api = api_of()
    path = Path(api.hf_hub_download("lab/big", "big.bin"))
    blob = path.resolve()
    blob.rename(f"{blob}.incomplete")
    os.truncate(f"{blob}.incomplete", 100_000)
    path.unlink()

    assert Path(api.hf_hub_download("lab/big", "big.bin")).read_bytes() == data


def test_headers_of_weights_are_read_without_the_weights(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    header = {"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    spelled = json.dumps(header).encode()
    weights = struct.pack("<Q", len(spelled)) + spelled + bytes(24)
    index = {
        "metadata": {"total_size": 24},
        "weight_map": {"a": "model-00001-of-00001.safetensors"},
    }
    make_mlmodel("lab/one", actor=charlie, files={"model.safetensors": weights})
    make_mlmodel(
        "lab/sharded",
        actor=charlie,
        files={
            "model.safetensors.index.json": json.dumps(index),
            "model-00001-of-00001.safetensors": weights,
        },
    )

    for name, sharded in [("lab/one", False), ("lab/sharded", True)]:
        told = api_of().get_safetensors_metadata(name)
        assert (told.sharded, told.parameter_count) == (sharded, {"F32": 6})


def test_a_data_set_is_downloaded_like_a_model(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    files = {"data/train.csv": "a\n1\n"}
    make_mlmodel("lab/stars", actor=charlie, files=files, kind=RepositoryKind.DATASET)

    assert _held(api_of().snapshot_download("lab/stars", repo_type="dataset")) == files
