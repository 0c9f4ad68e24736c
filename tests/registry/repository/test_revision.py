"""Commits: what they make, what they refuse, and that refused ones leave no trace."""

from typing import Any

import pytest

from registry.errors import Conflict, Forbidden, Invalid, NotFound, RegistryError
from registry.selectors.people.account import user_of_token
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import (
    file_get,
    files_of,
    history,
    main_path,
    readme_of,
    revision_get,
    text_of,
)
from registry.services.repository.ref import ref_create
from registry.services.repository.revision import Add, Copy, Delete, Operation, commit
from registry.states import JobKind, RefKind, Scope
from registry.tables import (
    AuditEntry,
    File,
    Job,
    MLModel,
    OutboxEntry,
    Ref,
    Revision,
    Tag,
    User,
)
from registry.validation.attributes import LARGE_BYTES
from tests.factories import commit_files, make_mlmodel, make_token, readme, store, tiny_onnx


@pytest.fixture
def net(alice: User) -> MLModel:
    """``alice/net`` with a card and a text."""
    return make_mlmodel("alice/net", actor=alice, files={"README.md": readme(), "a.txt": b"a"})


def paths_of(revision: Revision) -> list[str]:
    return [file.path for file in files_of(revision)]


def put(path: str, data: bytes, actor: User) -> Add:
    return Add(path, store(data, actor).sha256)


def test_a_commit_adds_replaces_copies_and_deletes_at_once(net: MLModel, alice: User) -> None:
    before = revision_get(net)
    operations: list[Operation] = [
        put("b/c.txt", b"c", alice),
        put("a.txt", b"changed", alice),
        Copy("copy.txt", "a.txt", before.oid),
        Delete(".gitattributes"),
    ]
    after = commit(actor=alice, mlmodel=net, message="Several\n", operations=operations)
    assert paths_of(after) == ["README.md", "a.txt", "b/c.txt", "copy.txt"]
    assert file_get(after, "copy.txt").blob == file_get(before, "a.txt").blob
    assert file_get(after, "a.txt").blob != file_get(before, "a.txt").blob
    assert (after.parent, after.message, after.author) == (before, "Several", alice)
    assert revision_get(net) == after
    assert paths_of(before) == [".gitattributes", "README.md", "a.txt"]


def test_a_folder_is_deleted_with_all_below_it(net: MLModel, alice: User) -> None:
    commit_files(net, {"d/x": b"x", "d/e/y": b"y", "dd": b"d"}, actor=alice)
    after = commit(actor=alice, mlmodel=net, message="-", operations=[Delete("d/")])
    assert paths_of(after) == [".gitattributes", "README.md", "a.txt", "dd"]


def test_a_file_may_become_a_folder_in_one_commit(net: MLModel, alice: User) -> None:
    operations: list[Operation] = [Delete("a.txt"), put("a.txt/b", b"b", alice)]
    after = commit(actor=alice, mlmodel=net, message="-", operations=operations)
    assert "a.txt/b" in paths_of(after)


def test_the_card_describes_the_model(galaxy: MLModel) -> None:
    assert galaxy.license == "Apache-2.0"
    assert galaxy.task == "image-classification"
    assert galaxy.library == "onnx"
    assert galaxy.description == "It tells galaxies apart."
    assert [tag.value for tag in galaxy.tags.all()] == ["astronomy"]
    assert revision_get(galaxy).card["license"] == "apache-2.0"


def test_a_new_card_replaces_the_old_and_a_deleted_one_says_nothing(
    galaxy: MLModel, charlie: User
) -> None:
    commit_files(galaxy, {"README.md": readme("Text.", tags=["x", "y"])}, actor=charlie)
    shown = mlmodel_get(None, "lab/galaxy-cnn")
    assert {tag.value for tag in shown.tags.all()} == {"x", "y"}
    assert (shown.task, shown.description) == ("", "Text.")
    commit_files(galaxy, {"README.md": None}, actor=charlie)
    shown = mlmodel_get(None, "lab/galaxy-cnn")
    assert (shown.license, shown.description) == ("", "")
    assert not Tag.objects.exists()


def test_a_commit_on_another_branch_leaves_the_models_description(
    galaxy: MLModel, charlie: User
) -> None:
    head = revision_get(galaxy)
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.BRANCH, name="next", revision=head)
    made = commit_files(galaxy, {"README.md": readme("Other.")}, actor=charlie, branch="next")
    assert mlmodel_get(None, "lab/galaxy-cnn").description == "It tells galaxies apart."
    assert revision_get(galaxy, "next") == made
    assert revision_get(galaxy) == head


def test_a_network_is_inspected_and_a_text_is_not(net: MLModel, alice: User) -> None:
    assert not Job.objects.exists()
    made = commit_files(net, {"deep/model.ONNX": tiny_onnx()}, actor=alice)
    job = Job.objects.get()
    assert (job.kind, job.revision, job.requested_by) == (JobKind.INSPECT, made, alice)


def test_large_files_are_listed_by_their_pointer(net: MLModel, alice: User) -> None:
    big = b"x" * (LARGE_BYTES + 1)
    after = commit_files(net, {"m.onnx": b"weights", "notes.txt": big, "e.onnx": b""}, actor=alice)
    listed = {file.path: (file.is_lfs, file.oid == file.blob.git_oid) for file in files_of(after)}
    assert listed["m.onnx"] == (True, False)
    assert listed["notes.txt"] == (True, False)
    assert listed["e.onnx"] == (False, True)
    assert listed["a.txt"] == (False, True)


def test_new_attributes_speak_of_what_is_put_from_then_on(net: MLModel, alice: User) -> None:
    attributes = b"*.dat filter=lfs diff=lfs merge=lfs -text\n"
    after = commit_files(
        net, {".gitattributes": attributes, "x.dat": b"x", "y.onnx": b"y"}, actor=alice
    )
    assert file_get(after, "x.dat").is_lfs
    assert not file_get(after, "y.onnx").is_lfs
    assert not file_get(after, "a.txt").is_lfs
    with pytest.raises(Invalid, match=r"\.gitattributes"):
        commit_files(net, {".gitattributes": b"#" * 70_000}, actor=alice)


REFUSED: list[tuple[str, dict[str, bytes | str | None], str]] = [
    ("climbing out", {"../x": b"x"}, "invalid_path"),
    ("git's folder", {".git/hooks/x": b"x"}, "invalid_path"),
    ("a control character", {"a\nb": b"x"}, "invalid_path"),
    ("a file as folder", {"a.txt/b": b"x"}, "invalid_path"),
    ("only case differs", {"A.TXT": b"x"}, "case_collision"),
    ("no such file", {"gone": None}, "file_not_found"),
    ("no such bytes changed", {"a.txt": b"a"}, "nothing_to_commit"),
    ("a broken card", {"README.md": "---\na: [\n---\n"}, "invalid_card"),
    ("an unknown license", {"README.md": readme(license="freeware")}, "license_unknown"),
    ("no license", {"README.md": readme(license=None)}, "license_missing"),
    ("no card at all", {"README.md": None}, "license_missing"),
    ("a license without name", {"README.md": readme(license="other")}, "license_missing"),
    ("a pickle named .onnx", {"pickle.onnx": b"\x80\x04K\x01."}, "onnx_unreadable"),
    ("an archive named .onnx", {"torch.onnx": b"PK\x03\x04rest"}, "onnx_unreadable"),
    ("an empty network", {"empty.onnx": b""}, "onnx_unreadable"),
    ("a text named .tflite", {"text.tflite": b"not a network"}, "tflite_invalid"),
    ("a huge card", {"README.md": b"x" * (2 << 20)}, "invalid_card"),
]


def trace() -> dict[str, int]:
    """How many rows there are of all that a commit writes."""
    tables = (Revision, File, Ref, Job, Tag, OutboxEntry)
    commits = AuditEntry.objects.filter(action="revision.commit").count()
    return {table.__name__: table.objects.count() for table in tables} | {"commits": commits}


@pytest.mark.parametrize(
    ("files", "code"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_a_refused_commit_leaves_no_trace(
    net: MLModel, alice: User, files: dict[str, bytes | str | None], code: str
) -> None:
    before, head = trace(), revision_get(net)
    with pytest.raises(RegistryError) as caught:
        commit_files(
            net,
            files | {"more.onnx": tiny_onnx()} if code != "nothing_to_commit" else files,
            actor=alice,
            is_checked=True,
        )
    assert caught.value.code == code
    assert trace() == before
    assert revision_get(net) == head


def test_the_same_path_twice_is_refused(net: MLModel, alice: User) -> None:
    operations = [put("x", b"1", alice), put("x", b"2", alice)]
    with pytest.raises(Invalid) as caught:
        commit(actor=alice, mlmodel=net, message="-", operations=operations)
    assert caught.value.code == "duplicate_path"


def test_bytes_nobody_sent_or_somebody_else_did_are_missing(
    net: MLModel, alice: User, bob: User
) -> None:
    for sha256 in ("0" * 64, "no digest", store(b"bob's own", bob).sha256):
        with pytest.raises(Invalid) as caught:
            commit(actor=alice, mlmodel=net, message="-", operations=[Add("x", sha256)])
        assert caught.value.code == "blob_missing"
        assert "x" in caught.value.fields


def test_bytes_of_a_public_model_may_be_used_again(
    net: MLModel, galaxy: MLModel, alice: User
) -> None:
    theirs = file_get(revision_get(galaxy), "model.onnx").blob_id
    made = commit(actor=alice, mlmodel=net, message="-", operations=[Add("m.onnx", theirs)])
    assert file_get(made, "m.onnx").blob_id == theirs


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (("gone", "main"), "file_not_found"),
        (("a\0", "main"), "file_not_found"),
        (("a\ud800", "main"), "file_not_found"),
        (("a.txt", "gone"), "revision_not_found"),
        (("a.txt", "\ud800"), "revision_not_found"),
    ],
)
def test_a_copy_of_nothing_is_refused(
    net: MLModel, alice: User, source: tuple[str, str], code: str
) -> None:
    with pytest.raises(NotFound) as caught:
        commit(actor=alice, mlmodel=net, message="-", operations=[Copy("x", *source)])
    assert caught.value.code == code


def test_a_commit_on_an_older_parent_is_stale_and_on_the_newest_is_not(
    net: MLModel, alice: User
) -> None:
    old = revision_get(net)
    new = commit_files(net, {"b": b"b"}, actor=alice, parent_oid=old.oid)
    for parent in (old.oid, "0" * 40, new.oid[:6], ""):
        with pytest.raises(Conflict) as caught:
            commit_files(net, {"c": b"c"}, actor=alice, parent_oid=parent)
        assert caught.value.code == "stale_parent"
    commit_files(net, {"c": b"c"}, actor=alice, parent_oid=new.oid[:7].upper())


@pytest.mark.parametrize("message", ["", " \n ", "a\0b", "a\ud800", "x" * 65_537])
def test_a_message_must_say_something_that_can_be_read(
    net: MLModel, alice: User, message: str
) -> None:
    with pytest.raises(Invalid) as caught:
        commit_files(net, {"b": b"b"}, actor=alice, message=message)
    assert "message" in caught.value.fields


def test_a_branch_that_is_not_there_takes_no_commit(net: MLModel, alice: User) -> None:
    for branch in ("gone", "", "a\0b", revision_get(net).oid):
        with pytest.raises(NotFound) as caught:
            commit_files(net, {"b": b"b"}, actor=alice, branch=branch)
        assert caught.value.code == "revision_not_found"


def test_only_writers_commit(net: MLModel, alice: User, bob: User) -> None:
    for actor in (bob, user_of_token(make_token(alice, Scope.READ))):
        with pytest.raises(Forbidden):
            commit(actor=actor, mlmodel=net, message="-", operations=[Delete("a.txt")])


def test_history_is_the_line_a_revision_grew_from(net: MLModel, alice: User) -> None:
    first = revision_get(net)
    ref_create(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="side", revision=first)
    second = commit_files(net, {"b": b"b"}, actor=alice)
    other = commit_files(net, {"c": b"c"}, actor=alice, branch="side")
    assert list(history(net, second))[:2] == [second, first]
    assert list(history(net, other))[:2] == [other, first]
    assert second not in history(net, other)
    newest: Any = history(net, second).filter(id__lt=second.pk).first()
    assert newest == first


def test_texts_are_read_where_they_are_texts(net: MLModel, alice: User) -> None:
    made = commit_files(net, {"b.bin": b"\xff" * 5000}, actor=alice)
    assert text_of(made, "a.txt", most_bytes=1) == "a"
    assert text_of(made, "b.bin", most_bytes=10_000) is None
    assert text_of(made, "README.md", most_bytes=1) is None
    assert text_of(made, "gone", most_bytes=1) is None
    assert readme_of(made) == "# A model\n\nIt tells galaxies apart.\n"
    assert main_path(made) == "b.bin"


def test_files_about_the_others_are_never_the_main_one(alice: User) -> None:
    texts = {"README.md": "x" * 5000, "LICENSE": "y" * 6000, ".gitattributes": "z" * 7000}
    document = make_mlmodel("alice/told", actor=alice, files=texts)
    assert main_path(revision_get(document)) is None
    made = commit_files(document, {"model.onnx": b"n"}, actor=alice)
    assert main_path(made) == "model.onnx"


def test_a_model_without_a_card_has_no_readme(alice: User) -> None:
    assert readme_of(revision_get(make_mlmodel("alice/bare", actor=alice))) == ""
