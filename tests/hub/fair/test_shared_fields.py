"""What one version is said to be is the same in every form that it is served in.

Each form is fetched, read by a reader of that form, and asked for every field; a form that has no
word for one stands with it in :data:`LACKS`. The truth comes from the rows and from what the
card's author wrote, not from the description that all forms are written from.
"""

import csv
import io
from datetime import datetime
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from registry.fair.formats import formats_of
from registry.selectors.fair.identifier import identifier_of, identifiers_of, pid_url
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_delete
from registry.states import RepositoryKind
from registry.tables import Identifier, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme
from tests.hub.fair.fields import READERS, Fields, agrees
from tests.hub.fair.records import CARD, DESCRIPTION, FILES, ORCID, TEXT, make_record
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db
HUB = "http://127.0.0.1:8000"
PAGE = "/lab/galaxy-net"
PAPER = "https://doi.org/10.48550/arXiv.2001.00001"
IDENTIFIERS = {"pid", "concept", "landing", "doi", "swhid", "swhid_commit"}
DATES = {"created", "published", "modified"}
BYTES = {"files", "sizes"}
WORDS = {"title", "text", "version", "license", "keywords", "languages", "task"}
PEOPLE = {"creators", "orcids", "homes", "publisher"}
LINKS = {"parents", "papers", "data"}
FIELDS = IDENTIFIERS | DATES | BYTES | WORDS | PEOPLE | LINKS
_CITED = {
    "pid",
    "doi",
    "title",
    "text",
    "version",
    "published",
    "creators",
    "keywords",
    "publisher",
}
#: What a form has no word for. Of a model, Croissant describes the log of its measurements.
LACKS: dict[str, set[str]] = {
    "datacite-json": {"swhid_commit"} | BYTES,
    "datacite-xml": {"swhid_commit"} | BYTES,
    "spdx": {"homes", "keywords", "languages", "sizes"},
    "cff": {"created", "modified", "homes", "languages", "task", "publisher"} | BYTES | LINKS,
    "bibtex": FIELDS - {"pid", "doi", "title", "version", "published", "creators", "publisher"},
    "model-index": FIELDS,
    "csl": FIELDS - _CITED,
    "ris": FIELDS - _CITED,
    "codemeta": {"concept", "languages", "parents", "data"} | BYTES,
    "prov-json": FIELDS
    - {"pid", "concept", "landing", "title", "version", "creators", "orcids", "parents"}
    - DATES,
}
_NO_WORD = {"concept", "swhid", "swhid_commit", "task", "data"}
CROISSANT_LACKS = {
    "model": _NO_WORD | {"doi", "title", "text", "parents", "papers"} | BYTES,
    "dataset": _NO_WORD,
}


@pytest.fixture
def record(charlie: User, lab: object) -> MLModel:
    made = make_record(charlie)
    shopfloor.make_graph(revision_get(made))
    return made


@pytest.fixture
def model(charlie: User, lab: object) -> MLModel:
    """One that says all there is to say, and what it was made from is of this hub, too."""
    make_mlmodel("lab/base", actor=charlie, files={"README.md": readme()})
    make_mlmodel("lab/galaxies", actor=charlie, kind=RepositoryKind.DATASET)
    sources = {"base_model": "lab/base", "base_model_relation": "finetune"}
    card = readme(TEXT, **CARD, **sources, datasets=["lab/galaxies"])
    made = make_mlmodel("lab/galaxy-net", actor=charlie, files=FILES | {"README.md": card})
    shopfloor.make_graph(revision_get(made))
    return made


@pytest.fixture
def dataset(charlie: User, lab: object) -> MLModel:
    """The same of a data set."""
    make_mlmodel("lab/base", actor=charlie, kind=RepositoryKind.DATASET)
    of_models = {"pipeline_tag", "library_name", "model-index"}
    said = {key: value for key, value in CARD.items() if key not in of_models}
    files = {
        "README.md": readme(TEXT, **said, base_model="lab/base"),
        "galaxies.csv": "name,shape\nM31,spiral\n",
        "empty.bin": b"",
    }
    kind = RepositoryKind.DATASET
    return make_mlmodel("lab/galaxy-net", actor=charlie, files=files, kind=kind)


def truth_of(mlmodel: MLModel) -> Fields:
    """What every form has to say of the newest version, whose card is :data:`CARD`."""
    revision = revision_get(mlmodel)
    version = identifier_of(revision)
    assert version is not None
    is_model = mlmodel.kind == RepositoryKind.MODEL
    files = {one.path: one.blob for one in revision.files.select_related("blob")}
    published = max(revision.created_at, mlmodel.created_at)
    return {
        "pid": pid_url(version.name),
        "concept": _concept(mlmodel),
        "landing": f"{HUB}{_page(mlmodel)}?revision={revision.oid}",
        "doi": "https://doi.org/10.5072/galaxy-net",
        "swhid": f"swh:1:dir:{revision.directory_oid}",
        "swhid_commit": f"swh:1:rev:{revision.oid}",
        "title": CARD["model_name"],
        "text": DESCRIPTION,
        "version": CARD["version"],
        "created": revision.created_at,
        "published": published,
        "modified": max(published, mlmodel.updated_at),
        "license": ["https://spdx.org/licenses/Apache-2.0"],
        "creators": ["Josiah Carberry", "Ada Beispiel"],
        "orcids": {"Josiah Carberry": ORCID},
        "homes": {"Josiah Carberry": [("Brown University", "https://ror.org/05gq02987")]},
        "keywords": CARD["tags"],
        "languages": CARD["language"],
        "files": {path: blob.sha256 for path, blob in files.items()},
        "sizes": {path: blob.size_bytes for path, blob in files.items()},
        "parents": {_concept(MLModel.objects.get(name="base"))},
        "papers": {PAPER},
        "data": {_concept(MLModel.objects.get(name="galaxies"))} if is_model else set(),
        "task": CARD["pipeline_tag"] if is_model else None,
        "publisher": settings.PUBLISHER,
    }


def _page(mlmodel: MLModel) -> str:
    return PAGE if mlmodel.kind == RepositoryKind.MODEL else f"/datasets{PAGE}"


def _concept(mlmodel: MLModel) -> str:
    concept = identifiers_of(mlmodel).first()
    assert concept is not None
    return pid_url(concept.name)


def _register(revision: Revision) -> None:
    Identifier.objects.filter(revision=revision).update(doi="10.5072/galaxy-net")


def _disagreements(client: Client, page: str, oid: str, truth: Fields, kind: Any) -> list[Any]:
    disagreements = []
    for form in formats_of(kind):
        answer = client.get(f"{page}/metadata/{form.name}?revision={oid}")
        assert answer.status_code == 200, form.name
        fields = READERS[form.name](answer.content)
        lacking = CROISSANT_LACKS[kind] if form.name == "croissant" else LACKS.get(form.name, set())
        assert fields.keys() == FIELDS - lacking, (form.name, fields.keys() ^ (FIELDS - lacking))
        for field, value in fields.items():
            if not agrees(form.name, value, truth[field]):
                disagreements.append((form.name, field, value, truth[field]))
    return disagreements


@pytest.mark.parametrize("kind", ["model", "dataset"])
def test_every_form_says_the_same_of_all_that_it_has_words_for(
    client: Client, request: pytest.FixtureRequest, kind: str
) -> None:
    mlmodel: MLModel = request.getfixturevalue(kind)
    revision = revision_get(mlmodel)
    _register(revision)
    truth = truth_of(mlmodel)
    assert _disagreements(client, _page(mlmodel), revision.oid, truth, kind) == []


def test_every_form_goes_on_saying_it_when_the_files_are_gone(
    client: Client, model: MLModel, charlie: User
) -> None:
    revision = revision_get(model)
    _register(revision)
    truth = truth_of(model)
    mlmodel_delete(actor=charlie, mlmodel=model, reason="Found to be wrong.")
    disagreements = _disagreements(client, PAGE, revision.oid, truth, "model")
    # To withdraw it is the last change.
    assert {field for _, field, *_ in disagreements} <= {"modified"}
    assert all(datetime.fromisoformat(str(value)) for _, _, value, _ in disagreements)


def test_each_form_has_a_reader() -> None:
    assert set(READERS) == {one.name for one in formats_of("model")}
    assert set(READERS) >= {one.name for one in formats_of("dataset")}


def test_what_is_measured_is_a_table_of_the_same_version(client: Client, record: MLModel) -> None:
    answer = client.get(f"{PAGE}/measurements/trials.csv")
    text = b"".join(answer).decode()
    assert list(csv.DictReader(io.StringIO(text))) == []
    assert text.startswith("trial,job,number")


def test_a_new_version_has_an_identifier_of_its_own_and_the_old_one_keeps_its_own(
    client: Client, record: MLModel, charlie: User
) -> None:
    old = revision_get(record)
    before = client.get(f"{PAGE}/metadata/jsonld?revision={old.oid}").json()
    commit_files(record, {"notes.txt": "new\n"}, actor=charlie)
    after = client.get(f"{PAGE}/metadata/jsonld").json()
    again = client.get(f"{PAGE}/metadata/jsonld?revision={old.oid}").json()
    assert after["@id"] != before["@id"] == again["@id"]
    assert after["dct:isVersionOf"]["@id"] == again["dct:isVersionOf"]["@id"]
    assert again["distribution"] == before["distribution"]
    assert before["@id"] in [one["@id"] for one in after["dct:isVersionOf"]["dct:hasVersion"]]
