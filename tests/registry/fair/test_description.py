"""What the hub says of a version: from rows, files and card, the same for whoever may read it."""

from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.selectors.fair.description import (
    describe,
    describe_many,
    describe_revisions,
    metadata,
)
from registry.selectors.repository.findings import findings_of
from registry.selectors.repository.mlmodel import mlmodel_get, repository_get
from registry.selectors.repository.revision import revision_get
from registry.services.repository.mlmodel import mlmodel_update
from registry.services.repository.ref import ref_create
from registry.states import RefKind, RepositoryKind
from registry.tables import Assessment, Blob, Identifier, MLModel, Namespace, Revision, User
from tests.factories import commit_files, file_row, make_mlmodel, readme, tiny_onnx
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"
TEXT = "# Galaxy CNN\n\nSorts images of galaxies by their shape, for surveys of the whole sky.\n"
CARD = readme(
    TEXT,
    pipeline_tag="image-classification",
    library_name="onnx",
    tags=["astronomy"],
    authors=[{"name": "Josiah Carberry", "orcid": "0000-0002-1825-0097"}],
    datasets=["lab/galaxies", "unheard-of"],
    parameters="7B",
)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def described(full_name: str, kind: RepositoryKind = RepositoryKind.MODEL) -> Description:
    """The newest version of ``namespace/name``, read as a request reads it."""
    mlmodel = repository_get(None, kind, full_name)
    revision = revision_get(mlmodel)
    revision.mlmodel = mlmodel
    return describe(revision)


def test_a_version_is_described_by_its_card_and_its_files(charlie: User, lab: Namespace) -> None:
    Namespace.objects.filter(pk=lab.pk).update(ror="https://ror.org/05dxps055")
    mlmodel = make_mlmodel(
        "lab/galaxy-cnn", actor=charlie, files={"README.md": CARD, "model.onnx": tiny_onnx()}
    )
    head = revision_get(mlmodel)
    found = described("lab/galaxy-cnn")
    assert (found.kind, found.repository, found.title) == ("model", "lab/galaxy-cnn", "galaxy-cnn")
    assert found.description == TEXT.split("\n\n")[1].strip()
    assert [(one.name, one.orcid) for one in found.creators] == [
        ("Josiah Carberry", "https://orcid.org/0000-0002-1825-0097")
    ]
    assert found.license is not None
    assert found.license.uris == ("https://spdx.org/licenses/Apache-2.0",)
    assert (found.task, found.library, found.keywords) == (
        "image-classification",
        "onnx",
        ("astronomy",),
    )
    assert (found.owner.name, found.owner.kind) == ("The Laboratory", "organization")
    assert found.owner.ror == "https://ror.org/05dxps055"
    assert (found.version, found.oid) == (head.oid[:10], head.oid)
    assert found.tree_oid == head.directory_oid != head.tree_oid
    assert (found.access, found.status) == ("open access", "public")
    files = {file.path: file for file in found.files}
    assert set(files) == {".gitattributes", "README.md", "model.onnx"}
    assert files["model.onnx"].size_bytes == len(tiny_onnx())
    assert files["model.onnx"].url == f"{HUB}/lab/galaxy-cnn/resolve/{head.oid}/model.onnx"
    assert files["README.md"].media_type == "text/markdown"
    assert found.unknown == {"parameters": "7B"}


@pytest.mark.parametrize(
    ("card", "files", "expected"),
    [
        ({"library_name": "openvino"}, {"model.onnx": tiny_onnx()}, "onnx"),
        ({"library_name": "OpenVINO"}, {"a.txt": "a"}, None),
        ({"library_name": "diffusers"}, {"adapter_config.json": "{}"}, "peft"),
        ({"library_name": "Diffusers"}, {"model_index.json": "{}"}, "Diffusers"),
        ({"library_name": "onnx"}, {"model.onnx": tiny_onnx(), "modules.json": "[]"}, "onnx"),
        ({"library_name": "mine"}, {"model.onnx": tiny_onnx()}, "mine"),
        ({}, {"model.onnx": tiny_onnx()}, "onnx"),
        ({}, {"model.onnx": tiny_onnx(), "model.tflite": "t"}, None),
    ],
)
def test_the_files_library_beats_a_typed_one_that_they_disprove(
    alice: User, card: dict[str, str], files: dict[str, str | bytes], expected: str | None
) -> None:
    mlmodel = make_mlmodel(
        "alice/net", actor=alice, files={"README.md": readme(TEXT, **card), **files}
    )
    assert described("alice/net").library == expected
    told = [one for one in findings_of(revision_get(mlmodel)) if one.field == "library_name"]
    assert len(told) == (card.get("library_name") not in (expected, None))


def test_a_task_is_its_authors_word(alice: User) -> None:
    config = '{"model_type": "bert", "architectures": ["BertForMaskedLM"]}'
    card = readme(TEXT, pipeline_tag="feature-extraction")
    make_mlmodel("alice/net", actor=alice, files={"README.md": card, "config.json": config})
    assert described("alice/net").task == "feature-extraction"


def test_a_doi_in_a_card_is_no_identifier_of_its_versions(alice: User) -> None:
    files = {"README.md": readme(doi="10.5072/paper")}
    first = revision_get(make_mlmodel("alice/cited", actor=alice, files=files))
    Identifier.objects.filter(revision=first).update(doi="10.5072/first")
    (registered,) = describe_revisions([first])
    commit_files(first.mlmodel, {"a.txt": "a"})
    for found, doi in (
        (registered, "https://doi.org/10.5072/first"),
        (described("alice/cited"), None),
    ):
        assert found.doi == doi
        assert [one.url for one in found.papers] == ["https://doi.org/10.5072/paper"]


def test_what_nobody_said_is_absent(alice: User) -> None:
    make_mlmodel("alice/empty", actor=alice)
    found = described("alice/empty")
    said = (found.description, found.license, found.task, found.library, found.network, found.fair)
    assert said == (None,) * 6
    assert len(found.creators) + len(found.builds) + len(found.tests) == 0
    # Who owns the name space is known, and is no creator.
    assert (found.owner.name, found.owner.kind) == ("Alice Adams", "person")
    assert [one.kind for one in found.activities] == ["publish"]
    assert found.activities[0].agent is not None
    assert found.activities[0].agent.email is None


def test_a_version_has_identifiers_and_lists_its_siblings_newest_first(galaxy: MLModel) -> None:
    first = revision_get(galaxy)
    ref_create(actor=None, mlmodel=galaxy, kind=RefKind.TAG, name="v1", revision=first)
    head = commit_files(galaxy, {"a.txt": "a"})
    other = commit_files(galaxy, {"b.txt": "b"})
    names = dict(Identifier.objects.filter(mlmodel=galaxy).values_list("oid", "name"))
    found = described("lab/galaxy-cnn")
    assert found.pid == f"{HUB}/ark:/99999/{names[other.oid]}"
    assert found.concept_pid == f"{HUB}/ark:/99999/{names['']}"
    order = [found.pid, f"{HUB}/ark:/99999/{names[head.oid]}"]
    assert list(found.versions[:2]) == order
    assert len(found.versions) == 3, "the empty first commit is no version"
    tagged = describe_revisions([first])[0]
    assert (tagged.version, tagged.versions) == ("v1", found.versions)


def test_hidden_and_gated_ones_say_so(galaxy: MLModel, secret: MLModel) -> None:
    found = described("lab/secret")
    assert (found.status, found.access) == ("draft", "restricted access")
    mlmodel_update(actor=None, mlmodel=galaxy, gate="manual")
    assert described("lab/galaxy-cnn").access == "restricted access"


def test_data_sets_of_this_hub_are_named_by_page_and_identifier_unless_hidden(
    charlie: User, lab: Namespace
) -> None:
    make_mlmodel("lab/galaxy-cnn", actor=charlie, files={"README.md": CARD})
    plain = [(one.name, one.url, one.pid) for one in described("lab/galaxy-cnn").datasets]
    assert plain == [("lab/galaxies", None, None), ("unheard-of", None, None)]
    cache.clear()
    data = make_mlmodel("lab/Galaxies", actor=charlie, kind=RepositoryKind.DATASET)
    known = described("lab/galaxy-cnn").datasets[0]
    concept = Identifier.objects.get(mlmodel=data, kind="concept").name
    assert known.url == f"{HUB}/datasets/lab/Galaxies"
    assert known.pid == f"{HUB}/ark:/99999/{concept}"
    assert described("lab/Galaxies", RepositoryKind.DATASET).kind == "dataset"
    cache.clear()
    mlmodel_update(actor=None, mlmodel=data, visibility="private")
    assert described("lab/galaxy-cnn").datasets[0].url is None


def test_an_unreadable_card_leaves_what_was_stored_of_it() -> None:
    # The rows are there, the bytes are not.
    revision = shopfloor.make_revision("alice/squeezenet")
    blob = shopfloor.make_blob(b"a card")
    file_row(revision, "README.md", blob)
    found = describe(revision)
    assert found.license is not None
    assert found.license.expression == "Apache-2.0"
    # Nothing was minted for it; its page names it.
    assert found.pid == found.landing == f"{HUB}/alice/squeezenet?revision={revision.oid}"
    assert found.versions == (found.pid,)


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_every_serialisation_takes_what_is_described(
    charlie: User, lab: Namespace, visibility: str
) -> None:
    make_mlmodel(
        "lab/full",
        actor=charlie,
        visibility=visibility,
        files={"README.md": CARD, "model.onnx": tiny_onnx(), "LICENSE": "text"},
    )
    make_mlmodel("lab/data", actor=charlie, kind=RepositoryKind.DATASET, files={"a.csv": "1"})
    for found in (described("lab/full"), described("lab/data", RepositoryKind.DATASET)):
        for one in formats_of(found.kind):
            assert one.render(found)


def test_many_take_as_many_queries_as_two(charlie: User, lab: Namespace) -> None:
    names = [f"lab/net-{number}" for number in range(6)]
    for name in names:
        mlmodel = make_mlmodel(
            name, actor=charlie, files={"README.md": CARD, "model.onnx": tiny_onnx()}
        )
        shopfloor.make_graph(revision_get(mlmodel))
    counted = []
    for some in (names[:2], names):
        cache.clear()
        mlmodels = [mlmodel_get(None, name) for name in some]
        with CaptureQueriesContext(connection) as queries:
            found = describe_many(mlmodels)
        assert [one.repository for one in found] == some
        counted.append(len(queries))
    assert counted[0] == counted[1]
    assert counted[0] <= 25
    with CaptureQueriesContext(connection) as again:
        describe_many(mlmodels)
    # The heads, and whether anything has changed.
    assert len(again) == 2


def test_the_cards_of_some_pages_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    texts = {f"{number:064x}": f"# Net {number}\n".encode() for number in range(300)}
    texts["e" * 64] = b"---\n: ["

    def blob_open(blob: Blob) -> BytesIO:
        opened.append(blob.sha256)
        return BytesIO(texts[blob.sha256])

    monkeypatch.setattr(metadata, "blob_open", blob_open)
    monkeypatch.setattr(metadata, "_cards", metadata._CardCache())
    for _ in range(2):
        for sha256, text in texts.items():
            card = metadata.card_of(
                Revision(card={"title": "Stored"}), Blob(sha256=sha256, size_bytes=9)
            )
            assert card.body == text.decode() or card.values == {"title": "Stored"}
        assert opened == list(texts)
    # Those that were not used for longest make room.
    monkeypatch.setattr(metadata, "_CACHE_BYTES", 4096)
    opened.clear()
    for sha256 in ("e" * 64, "f" * 64, "e" * 64, f"{299:064x}", f"{0:064x}"):
        texts.setdefault(sha256, b"# Another\n")
        metadata.card_of(Revision(card={}), Blob(sha256=sha256, size_bytes=9))
    assert opened == ["f" * 64, f"{299:064x}", f"{0:064x}"]


def test_it_is_kept_until_something_changes(galaxy: MLModel) -> None:
    assert described("lab/galaxy-cnn") is not None
    head = revision_get(galaxy)

    def told(revision: Revision) -> Description:
        fresh = Revision.objects.select_related("mlmodel__namespace").get(pk=revision.pk)
        return describe(fresh)

    ref_create(actor=None, mlmodel=galaxy, kind=RefKind.TAG, name="v7", revision=head)
    assert told(head).version == "v7"
    row = Assessment.objects.create(revision=head, document={}, tool="t", points=3, most=4)
    fair = told(head).fair
    assert fair is not None
    assert (fair.points, fair.of, fair.at) == (3, 4, row.created_at)
    Identifier.objects.filter(revision=head).update(doi="10.5072/x")
    assert told(head).doi == "https://doi.org/10.5072/x"
    newer = commit_files(galaxy, {"README.md": readme(model_name="Another")})
    assert told(newer).title == "Another"
    assert told(head).versions[0] == told(newer).pid
    mlmodel_update(actor=None, mlmodel=galaxy, visibility="private")
    assert told(newer).status == "draft"
    Namespace.objects.filter(pk=galaxy.namespace_id).update(title="Renamed")
    assert told(newer).owner.name == "Renamed"


def test_a_fork_was_published_when_it_was_made(galaxy: MLModel) -> None:
    early = revision_get(galaxy)
    Revision.objects.filter(pk=early.pk).update(created_at=early.created_at - timedelta(days=9))
    found = described("lab/galaxy-cnn")
    assert found.created < found.published <= found.modified
