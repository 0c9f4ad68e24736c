"""Publish, find, look, change, fork: the client's writes as the hub keeps them."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from hpcfair.card import parse
from hpcfair.catalogue import Filters
from hpcfair.client import Client
from hpcfair.errors import (
    Invalid,
    InvalidModelFile,
    LicenseMissing,
    NotFound,
    TooLarge,
)
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import Scope
from registry.tables import Blob, MLModel, User
from tests.factories import tiny_onnx

CARD = {
    "license": "apache-2.0",
    "title": "Tiny",
    "task": "image-classification",
    "tags": ["astronomy"],
    "description": "Tells small galaxies apart.",
}
NAME = "alice/tiny"


def test_a_saved_model_is_inspected_found_and_described(as_alice: Client, inspector: None) -> None:
    x = np.ones((5, 4), np.float32)

    revision = as_alice.save(
        tiny_onnx(), NAME, card=CARD, example_inputs=x, labels=np.array([0, 1, 2, 1, 0])
    )

    model = as_alice.info(NAME)
    assert model.revision == revision.oid
    assert (model.title, model.task, model.license) == (
        "Tiny",
        "image-classification",
        "Apache-2.0",
    )
    assert model.description == "Tells small galaxies apart."
    assert model.signature == "float32[N,4] -> float32[N,3]"
    assert model.inspection is not None
    assert model.inspection["state"] == "succeeded"
    assert {file.path for file in model.files} >= {"model.onnx", "README.md", "samples.npz"}
    searches: tuple[tuple[str, Filters], ...] = (
        ("galaxies", {}),
        ("", {"task": "image-classification"}),
        ("", {"license": "apache-2.0"}),
        ("", {"signature": "float32[N,4] -> float32[N,3]"}),
        ("tag:astronomy", {}),
        ("by:alice", {"parameters": "<1k", "size": "<1MB", "sort": "parameters"}),
    )
    for query, filters in searches:
        hits = as_alice.search(query, **filters)
        assert [hit.name for hit in hits] == [NAME], (query, filters)
    assert hits.total == 1
    assert as_alice.search("nebula").items == ()


def test_the_facets_of_a_search_count_its_hits(as_alice: Client) -> None:
    as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)

    assert ("image-classification", 1) in as_alice.search("").facets["task"]


def test_an_unreadable_query_is_refused_with_what_was_meant(as_alice: Client) -> None:
    with pytest.raises(Invalid) as refusal:
        as_alice.search("taks:segmentation")
    assert refusal.value.code == "invalid_query"
    assert "task" in str(refusal.value)


def test_a_value_that_no_model_has_is_hinted_at(as_alice: Client) -> None:
    as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)
    hits = as_alice.search(task="image-clasification")
    assert hits.items == ()
    (hint,) = hits.hints
    assert "Did you mean image-classification?" in hint


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"this is not ONNX at all", "onnx_unreadable"),
        (tiny_onnx()[:-20], "onnx_truncated"),
    ],
)
def test_a_file_the_hub_cannot_use_is_an_error_with_its_code(
    as_alice: Client, inspector: None, content: bytes, code: str
) -> None:
    with pytest.raises(InvalidModelFile) as refusal:
        as_alice.save(content, NAME, card=CARD)
    assert refusal.value.code == code
    assert MLModel.objects.get().visibility == "private"


def test_a_pickle_is_refused_before_anything_is_made(as_alice: Client) -> None:
    with pytest.raises(InvalidModelFile, match="Python pickle"):
        as_alice.save(b"\x80\x04K\x01.", NAME, card=CARD)

    assert not Blob.objects.exists()
    assert not MLModel.objects.exists()


def test_a_new_model_is_public_once_it_is_inspected(
    as_alice: Client, client_of: Callable[..., Client], inspector: None
) -> None:
    as_alice.save(tiny_onnx(), NAME, card=CARD)

    assert client_of().info(NAME).name == NAME


def test_external_data_that_was_left_at_home_is_missed(
    as_alice: Client, inspector: None, tmp_path: Path
) -> None:
    onnx.save(
        heavy(),
        tmp_path / "model.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    alone = (tmp_path / "model.onnx").read_bytes()

    with pytest.raises(InvalidModelFile) as refusal:
        as_alice.save(alone, NAME, card=CARD)
    assert refusal.value.code == "external_data_missing"
    # That a worker takes them is for ``tests/workers/jobs/test_inspect.py``.
    revision = as_alice.save(tmp_path / "model.onnx", NAME, card=CARD, wait=False)
    assert {file.path for file in revision.files} >= {"model.onnx", "weights.bin"}


def heavy() -> onnx.ModelProto:
    model = onnx.load_from_string(tiny_onnx())
    weight = onnx.numpy_helper.to_array(model.graph.initializer[0])
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weight, "weight"))
    return model


def test_without_a_license_nothing_reaches_the_hub(as_alice: Client) -> None:
    with pytest.raises(LicenseMissing):
        as_alice.save(tiny_onnx(), NAME)

    assert not Blob.objects.exists()


def test_an_unknown_license_is_refused_and_no_revision_is_made(as_alice: Client) -> None:
    with pytest.raises(Invalid) as refusal:
        as_alice.save(tiny_onnx(), NAME, card={"license": "apache-two"})

    assert refusal.value.code == "license_unknown"
    assert all(file.path != "model.onnx" for file in as_alice.info(NAME).files)


def test_a_file_larger_than_the_hub_takes_is_refused(as_alice: Client, settings: Any) -> None:
    settings.MAX_BLOB_BYTES = 1000

    with pytest.raises(TooLarge) as refusal:
        as_alice.save(tiny_onnx() + bytes(100_000), NAME, card=CARD, wait=False)
    assert refusal.value.code == "body_too_large"


@pytest.mark.parametrize("name", ["alice/..", "alice/a--b", "alice/" + "x" * 97])
def test_a_name_the_hub_does_not_take_is_refused(as_alice: Client, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        as_alice.save(tiny_onnx(), name, card=CARD, wait=False)


def test_saving_the_same_again_makes_no_revision(as_alice: Client) -> None:
    first = as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)

    assert as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False).oid == first.oid
    second = as_alice.save(tiny_onnx(scale=2), NAME, wait=False)
    assert second.parent == first.oid
    assert as_alice.info(NAME).title == "Tiny"


def test_a_branch_of_its_own_leaves_the_default_branch_alone(as_alice: Client) -> None:
    first = as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)

    other = as_alice.save(tiny_onnx(scale=2), NAME, card=CARD, branch="dev", wait=False)

    assert as_alice.info(NAME).revision == first.oid
    assert {ref.name: ref.revision for ref in as_alice.info(NAME).refs} == {
        "main": first.oid,
        "dev": other.oid,
    }


def test_history_goes_back_to_the_beginning(as_alice: Client) -> None:
    saved = [
        as_alice.save(tiny_onnx(scale=scale), NAME, card=CARD, message=f"Scale {scale}", wait=False)
        for scale in (1, 2, 3)
    ]

    found = list(as_alice.revisions(NAME))

    assert [revision.oid for revision in found[:3]] == [one.oid for one in reversed(saved)]
    assert found[0].message == "Scale 3"


def test_pull_gives_back_every_byte_of_any_revision(as_alice: Client, tmp_path: Path) -> None:
    first = as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)
    as_alice.save(tiny_onnx(scale=2), NAME, wait=False)

    as_alice.pull(NAME, tmp_path / "new")
    as_alice.pull(NAME, tmp_path / "old", revision=first.oid[:10])

    assert (tmp_path / "new" / "model.onnx").read_bytes() == tiny_onnx(scale=2)
    assert (tmp_path / "old" / "model.onnx").read_bytes() == tiny_onnx()


def test_a_folder_with_names_of_all_kinds_comes_back_as_it_went(
    as_alice: Client, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    names = ["model.onnx", "sub folder/ünïcode 銀河.txt", "a+b%20c&d=e#f.bin", ".hidden", "empty"]
    for number, name in enumerate(names):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(b"" if name == "empty" else bytes([number]) * 100)

    as_alice.save(source, NAME, card=CARD, wait=False)
    as_alice.pull(NAME, tmp_path / "back")

    for name in names:
        assert (tmp_path / "back" / name).read_bytes() == (source / name).read_bytes()


def test_a_copy_is_recorded_as_one_and_shares_all_bytes(
    as_alice: Client, client_of: Callable[..., Client], alice: User, bob: User
) -> None:
    as_alice.save(tiny_onnx(), NAME, card=CARD, wait=False)
    mlmodel_update(actor=alice, mlmodel=mlmodel_get(None, NAME), visibility="public")
    before = Blob.objects.count()

    reused = client_of(bob).reuse(NAME, as_="onnx", to="bob/mine")

    assert isinstance(reused.model, onnx.ModelProto)
    card = client_of(bob).info("bob/mine").card
    assert card == client_of().info(NAME).card
    assert Blob.objects.count() == before
    (row,) = revision_get(mlmodel_get(None, "bob/mine")).derivations.all()
    assert (row.relation, row.source) == ("copy", NAME)
    # A second copy changes nothing.
    again = client_of(bob).reuse(NAME, to="bob/mine")
    assert again.fork == reused.fork


def test_a_deleted_model_is_gone(client_of: Callable[..., Client], alice: User) -> None:
    owner = client_of(alice, Scope.ADMIN)
    owner.save(tiny_onnx(), NAME, card=CARD, wait=False)

    owner.delete(NAME)

    with pytest.raises(NotFound):
        owner.info(NAME)


def test_samples_on_the_hub_are_what_was_given(as_alice: Client, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    as_alice.save(tiny_onnx(), NAME, card=CARD, example_inputs={"x": x}, wait=False)

    as_alice.pull(NAME, tmp_path)

    samples = np.load(io.BytesIO((tmp_path / "samples.npz").read_bytes()))
    np.testing.assert_array_equal(samples["inputs/x"], x)
    assert parse((tmp_path / "README.md").read_text())[0]["pipeline_tag"] == "image-classification"
