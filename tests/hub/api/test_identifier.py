"""Identifiers over HTTP: what names a model, and what an identifier names."""

from django.conf import settings

from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_update
from registry.states import IdentifierKind, Visibility
from registry.tables import MLModel, User
from tests.factories import commit_files
from tests.hub.api.client import Api
from tests.hub.fair.records import make_data_record


def test_a_model_is_told_with_the_names_to_cite_it_by(anonymous: Api, galaxy: MLModel) -> None:
    told = anonymous.get("models/lab/galaxy-cnn").ok()["identifiers"]
    whole = galaxy.identifiers.get(kind=IdentifierKind.CONCEPT).name
    newest = revision_get(galaxy).identifiers.get().name
    assert told == {
        "model": f"{settings.HUB_URL}/ark:/99999/{whole}",
        "version": f"{settings.HUB_URL}/ark:/99999/{newest}",
        "doi": None,
    }
    first = galaxy.revisions.earliest("pk")
    of_first = anonymous.get(f"models/lab/galaxy-cnn/revisions/{first.oid}").ok()["identifiers"]
    assert of_first["model"] == told["model"]
    assert of_first["version"] is None, "an empty first commit is no version to cite"


def test_an_identifier_is_told_however_it_is_spelled(anonymous: Api, galaxy: MLModel) -> None:
    row = revision_get(galaxy).identifiers.get()
    expected = {
        "ark": f"ark:/99999/{row.name}",
        "url": f"{settings.HUB_URL}/ark:/99999/{row.name}",
        "kind": "version",
        "repository_kind": "model",
        "name": "lab/galaxy-cnn",
        "revision": row.oid,
        "doi": None,
        "is_test": True,
        "minted_at": row.minted_at.isoformat().replace("+00:00", "Z"),
        "withdrawn_at": None,
        "reason": "",
    }
    for text in (row.name, f"ark:/99999/{row.name}", f"ark:99999/{row.name.upper()}"):
        assert anonymous.get(f"identifiers/{text}").ok() == expected
    row.doi = "10.5072/abc"
    row.save()
    assert anonymous.get(f"identifiers/{row.name}").ok()["doi"] == "10.5072/abc"


def test_all_of_a_model_are_listed_page_by_page(
    anonymous: Api, galaxy: MLModel, charlie: User
) -> None:
    commit_files(galaxy, {"a.txt": b"a"}, actor=charlie)
    listed = anonymous.all("models/lab/galaxy-cnn/identifiers", limit=2)
    assert [item["kind"] for item in listed] == ["concept", *["version"] * 2]
    oids = list(galaxy.revisions.exclude(parent=None).order_by("-pk").values_list("oid", flat=True))
    assert [item["revision"] for item in listed] == [None, *oids]


def test_those_of_a_data_set_are_listed_below_its_kind(
    anonymous: Api, as_charlie: Api, galaxy: MLModel, charlie: User
) -> None:
    data = make_data_record(charlie)
    commit_files(data, {"a.txt": b"a"}, actor=charlie)

    listed = anonymous.all("datasets/lab/galaxies/identifiers", limit=1)

    assert [item["kind"] for item in listed] == [
        "concept",
        *["version"] * (data.revisions.count() - 1),
    ]
    assert {item["repository_kind"] for item in listed} == {"dataset"}
    oids = data.revisions.exclude(parent=None).order_by("-pk").values_list("oid", flat=True)
    assert [item["revision"] for item in listed[1:]] == list(oids)
    assert anonymous.get("models/lab/galaxies/identifiers").code == "model_not_found"
    assert anonymous.get("datasets/lab/galaxy-cnn/identifiers").code == "dataset_not_found"
    mlmodel_update(actor=charlie, mlmodel=data, visibility=Visibility.PRIVATE)
    assert anonymous.get("datasets/lab/galaxies/identifiers").code == "dataset_not_found"
    assert as_charlie.get("datasets/lab/galaxies/identifiers").status == 200


def test_what_was_withdrawn_says_when_and_why(
    anonymous: Api, as_charlie: Api, galaxy: MLModel
) -> None:
    row = revision_get(galaxy).identifiers.get()
    assert as_charlie.delete("models/lab/galaxy-cnn?reason=Wrong+labels.").status == 204
    told = anonymous.get(f"identifiers/{row.name}").ok()
    assert (told["reason"], told["name"]) == ("Wrong labels.", "lab/galaxy-cnn")
    assert told["withdrawn_at"] is not None
    assert anonymous.get("models/lab/galaxy-cnn/identifiers").code == "model_not_found"


def test_a_reason_that_is_too_long_deletes_nothing(as_charlie: Api, galaxy: MLModel) -> None:
    answer = as_charlie.delete(f"models/lab/galaxy-cnn?reason={'x' * 2001}")
    assert answer.code == "invalid_request"
    assert MLModel.objects.exists()


def test_what_is_none_is_not_found(anonymous: Api, galaxy: MLModel) -> None:
    for text in ("h2no", "ark:/99999/h2no", "ark:", "ark:/12148/h2", "a/b"):
        assert anonymous.get(f"identifiers/{text}").code == "identifier_not_found", text
