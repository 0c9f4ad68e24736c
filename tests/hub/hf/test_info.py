"""Information about models and data sets, through the real client."""

import json
import struct
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from huggingface_hub.errors import (
    BadRequestError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Gate, RepositoryKind
from registry.storage.git import blob_oid, lfs_pointer
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel, readme, store, tiny_onnx
from tests.hub.hf.conftest import ApiOf

pytestmark = pytest.mark.django_db(transaction=True)

ID = "lab/galaxy-cnn"
BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 8}


def safetensors(**tensors: tuple[str, int]) -> bytes:
    """A file of zeros: name to type and bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": [size], "data_offsets": [end, end + size]}
        end += size
    spelled = json.dumps(header).encode()
    return struct.pack("<Q", len(spelled)) + spelled + bytes(end)


def test_a_model_is_told_with_its_card_and_its_files(api_of: ApiOf, galaxy: MLModel) -> None:
    told = api_of().model_info(ID, files_metadata=True, securityStatus=True)

    network = store(tiny_onnx())
    assert (told.id, told.author, told.private, told.gated) == (ID, "lab", False, False)
    assert told.sha == galaxy.refs.get().revision.oid
    assert (told.pipeline_tag, told.library_name) == ("image-classification", "onnx")
    assert told.tags == ["onnx", "image-classification", "astronomy", "license:apache-2.0"]
    assert told.card_data is not None
    assert told.card_data.license == "apache-2.0"
    assert (told.downloads, told.likes, told.used_storage) == (0, 0, galaxy.used_bytes)
    assert told.created_at is not None
    assert told.last_modified is not None
    files = {file.rfilename: file for file in told.siblings or []}
    assert list(files) == [".gitattributes", "README.md", "model.onnx"]
    model = files["model.onnx"]
    assert model.lfs is not None
    assert (model.size, model.lfs.sha256, model.lfs.size) == (
        *(network.size_bytes, network.sha256, network.size_bytes),
    )
    pointer = lfs_pointer(network.sha256, network.size_bytes)
    assert (model.lfs.pointer_size, model.blob_id) == (len(pointer), blob_oid(pointer))
    assert files["README.md"].lfs is None


def test_older_revisions_tell_what_they_held(api_of: ApiOf, galaxy: MLModel, charlie: User) -> None:
    first = galaxy.refs.get().revision
    commit_files(galaxy, {"README.md": readme(tags=["new"]), "model.onnx": None}, actor=charlie)
    api = api_of()

    assert "new" in (api.model_info(ID).tags or [])
    for rev in [first.oid, first.oid[:7]]:
        old = api.model_info(ID, revision=rev)
        assert (old.sha, "astronomy" in (old.tags or [])) == (first.oid, True)
        assert len(old.siblings or []) == 3


def test_what_configuration_and_weights_say_is_told(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    files = {
        "config.json": json.dumps({**BERT, "auto_map": {"AutoModelForMaskedLM": "m.M"}}),
        "tokenizer_config.json": '{"pad_token": "[PAD]", "bos_token": {"content": "<s>"}}',
        "model.safetensors": safetensors(a=("F32", 400), b=("BF16", 20)),
        "other.safetensors": safetensors(c=("I8", 7)),
    }
    make_mlmodel("lab/bert", actor=charlie, files=files)

    told = api_of().model_info("lab/bert")

    assert told.config == {
        "model_type": "bert",
        "architectures": ["BertForMaskedLM"],
        "auto_map": {"AutoModelForMaskedLM": "m.M"},
        "tokenizer_config": {"bos_token": "<s>", "pad_token": "[PAD]"},
    }
    assert told.safetensors is not None
    assert (told.safetensors.parameters, told.safetensors.total) == ({"F32": 100, "BF16": 10}, 110)
    assert told.transformers_info == {
        "auto_model": "AutoModelForMaskedLM",
        "custom_class": "m.M",
        "pipeline_tag": "fill-mask",
        "processor": "AutoTokenizer",
    }
    assert told.tags == ["transformers", "safetensors", "bert", "fill-mask"]


def test_shards_are_counted_together(api_of: ApiOf, lab: Namespace, charlie: User) -> None:
    shards = {
        f"model-0000{number}-of-00002.safetensors": safetensors(a=("F16", 2 * number))
        for number in (1, 2)
    }
    make_mlmodel("lab/sharded", actor=charlie, files=shards)

    told = api_of().model_info("lab/sharded", expand=["safetensors"])

    assert told.safetensors == {"parameters": {"F16": 3}, "total": 3}


@pytest.mark.parametrize(
    "weights",
    [
        b"short",
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4000) + b"[" * 4000,
        struct.pack("<Q", 13) + b'{"a": {"b":1}}',
        safetensors(a=("F33", 4)),
        safetensors(a=("F32", 4)).replace(b"[0, 4]", b"[0,-4]"),
        safetensors(a=("F32", 4)).replace(b"[0, 4]", b"[9e9,]"),
        safetensors(a=("F32", 4000))[:100],
    ],
)
def test_weights_that_cannot_be_read_are_not_counted(
    api_of: ApiOf, lab: Namespace, charlie: User, weights: bytes
) -> None:
    files = {"model.safetensors": weights, "config.json": "[" * 100_000}
    make_mlmodel("lab/odd", actor=charlie, files=files)

    told = api_of().model_info("lab/odd")

    assert (told.safetensors, told.config, told.transformers_info) == (None, None, None)


def test_a_card_cannot_break_the_client_of_those_who_read_it(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    odd = {
        "self": 1,
        "ignore_metadata_errors": True,
        "tags": "one",
        "model-index": [{"name": "m", "results": [{"source": "nowhere"}]}],
        "eval_results": [1],
    }
    # Such an index is refused today, but older cards have some.
    with patch("registry.services.repository.draft.check_model_index"):
        make_mlmodel("lab/odd", actor=charlie, files={"README.md": readme(**odd)})
    api = api_of()

    for told in [api.model_info("lab/odd"), *api.list_models(cardData=True)]:
        assert told.card_data is not None
        assert told.card_data.tags == ["one"]


def test_only_what_is_asked_for_is_told(api_of: ApiOf, galaxy: MLModel) -> None:
    told = api_of().model_info(ID, expand=["sha", "baseModels", "gguf", "trendingScore"])

    assert told.sha is not None
    assert (told.trending_score, told.base_models, told.gguf) == (0, None, None)
    assert (told.author, told.tags, told.siblings) == (None, None, None)
    with pytest.raises(BadRequestError, match="everything"):
        api_of().model_info(ID, expand=["everything"])  # type: ignore[list-item]


def test_there_is_no_scanner_and_clients_are_told_so(api_of: ApiOf, galaxy: MLModel) -> None:
    for document in [
        api_of().model_info(ID, securityStatus=True),
        api_of().model_info(ID, expand=["securityRepoStatus"]),  # type: ignore[list-item]
    ]:
        assert document.security_repo_status == {"scansDone": False, "filesWithIssues": []}


def test_public_models_derived_from_a_model_are_counted(
    api_of: ApiOf, galaxy: MLModel, lab: Namespace, charlie: User
) -> None:
    for name, visibility in [("tuned", "public"), ("hidden", "private"), ("gone", "public")]:
        files = {"README.md": readme(base_model=ID)}
        make_mlmodel(f"lab/{name}", actor=charlie, files=files, visibility=visibility)
    commit_files(MLModel.objects.get(name="gone"), {"README.md": readme()}, actor=charlie)
    document = api_of(charlie).model_info(ID, expand=["childrenModelCount"])
    assert document.children_model_count == 1
    (listed,) = api_of().list_models(search="galaxy", expand=["childrenModelCount"])
    assert listed.children_model_count == 1


def test_a_data_set_is_told_under_its_own_address(
    api_of: ApiOf, lab: Namespace, charlie: User
) -> None:
    card = readme(language=["en"], paperswithcode_id="stars", size_categories=["n<1K"])
    files = {"README.md": card, "data/a.parquet": "x"}
    make_mlmodel("lab/stars", actor=charlie, files=files, kind=RepositoryKind.DATASET)
    api = api_of()

    told = api.dataset_info("lab/stars", files_metadata=True)

    assert told.tags == ["language:en", "size_categories:n<1K", "license:apache-2.0"]
    assert told.paperswithcode_id == "stars"
    assert [file.rfilename for file in told.siblings or []][-1] == "data/a.parquet"
    sizes = sum(file.size or 0 for file in told.siblings or [])
    assert api.dataset_info("lab/stars", expand=["mainSize"]).main_size == sizes
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("lab/stars")


def test_private_and_missing_ones_are_told_alike(
    api_of: ApiOf, secret: MLModel, bob: User, charlie: User
) -> None:
    told: list[tuple[int, str]] = []
    for name in ["lab/secret", "lab/absent"]:
        for api in [api_of(), api_of(bob)]:
            with pytest.raises(RepositoryNotFoundError) as error:
                api.model_info(name)
            answer = error.value.response
            told.append((answer.status_code, answer.headers["X-Error-Code"]))

    assert set(told) == {(404, "RepoNotFound")}
    assert api_of(charlie).model_info("LAB/Secret").id == "lab/secret"


def test_a_revision_that_is_not_there_is_told_so(api_of: ApiOf, galaxy: MLModel) -> None:
    for rev in ["gone", "refs/pr/1", "refs/convert/parquet", "0" * 40, "a/b", "é\x7f"]:
        with pytest.raises(RevisionNotFoundError):
            api_of().model_info(ID, revision=rev)


def test_a_gate_hides_files_and_nothing_else(
    api_of: ApiOf, galaxy: MLModel, charlie: User, bob: User
) -> None:
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate=Gate.AUTO)

    told = api_of().model_info(ID)

    assert told.gated == "auto"
    assert len(told.siblings or []) == 3


def test_an_unknown_token_is_refused_by_the_text_clients_know(
    api_of: ApiOf, galaxy: MLModel, hub_url: str
) -> None:
    with pytest.raises(HfHubHTTPError, match="Invalid credentials in Authorization header"):
        api_of().model_info(ID, token="hf_wrong")
    answer = httpx.get(
        f"{hub_url}/api/models/{ID}", headers={"X-Request-Id": "mine", "Accept": "text/plain"}
    )
    assert answer.headers["X-Request-Id"] == "mine"
