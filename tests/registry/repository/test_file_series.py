"""Rows of files: few for each commit, shared by revisions, found by indexes."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.selectors.fair.description.files import MAX_FILES, listed_files
from registry.selectors.repository.revision import files_get, revision_get
from registry.selectors.repository.tree import tree_page
from registry.selectors.storage.blob import blobs_usable
from registry.selectors.storage.lfsfile import blobs_held
from registry.selectors.storage.quota import bytes_added
from registry.services.repository import file as service
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.repository.revision import squash
from registry.services.storage.fsck import fsck
from registry.services.storage.prune import revisions_prune
from registry.states import RefKind
from registry.tables import File, FileSeries, Job, MLModel, Revision, User
from tests.factories import commit_files, file_row, make_mlmodel, store
from tests.plans import assert_reads_few
from tests.registry.repository.test_many_files import many_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def net(alice: User, data_dir: Path) -> MLModel:
    """``alice/net`` with three files in its second revision."""
    files = {"a": "a", "b": "b", "d/a": "a"}
    return make_mlmodel("alice/net", actor=alice, files=files)


def paths(revision: Revision) -> set[str]:
    return set(revision.files.values_list("path", flat=True)) - {".gitattributes"}


def branch(mlmodel: MLModel, name: str, revision: Revision) -> None:
    ref_create(actor=None, mlmodel=mlmodel, kind=RefKind.BRANCH, name=name, revision=revision)


def prune() -> int:
    # Queued ones keep their revisions.
    Job.objects.all().delete()
    return revisions_prune(before=timezone.now() + timedelta(days=1))


@pytest.mark.parametrize("number", [2_000, 20_000])
def test_a_commit_writes_as_many_rows_as_it_changes(
    charlie: User, lab: object, data_dir: Path, number: int
) -> None:
    mlmodel = many_files(number, charlie)
    changes = [
        ({"data/00000/new.txt": "new"}, 1),
        ({"data/00000/000001.bin": None}, 0),
        ({"data/00000/000002.bin": "other", "data/00000/000003.bin": "other"}, 2),
        ({"data/00000/new.txt": None, "README.md": "# Many"}, 1),
    ]
    for files, written in changes:
        before = File.objects.count()
        commit_files(mlmodel, files, actor=charlie)
        assert File.objects.count() == before + written
    # The empty start of the repository has one of its own.
    assert FileSeries.objects.count() == 2
    assert list(fsck(quick=True)) == []


def test_of_two_branches_one_goes_on_and_the_other_copies(net: MLModel) -> None:
    start = revision_get(net)
    for name in ("one", "two"):
        branch(net, name, start)
    first = commit_files(net, {"a": "one"}, branch="one")
    second = commit_files(net, {"b": None, "c": "c"}, branch="two")
    third = commit_files(net, {"a": None}, branch="two")
    assert (first.series, first.position) == (start.series, start.position + 1)
    assert second.series == third.series != start.series
    assert (second.position, third.position) == (0, 1)
    assert [paths(one) for one in (start, first, second, third)] == [
        {"a", "b", "d/a"}, {"a", "b", "d/a"}, {"a", "c", "d/a"}, {"c", "d/a"},
    ]  # fmt: skip
    changed = dict(second.files.values_list("path", "changed_in"))
    assert (changed["a"], changed["c"], changed["d/a"]) == (start.pk, second.pk, start.pk)
    assert first.files.get(path="a").changed_in == first
    # The first series has a row more than files; the other has copies of three, and a new one.
    assert list(FileSeries.objects.order_by("pk").values_list("length", "row_count")) == [
        (3, 5), (2, 4),
    ]  # fmt: skip


def test_a_series_ends_when_it_has_too_many_rows_for_its_files(
    net: MLModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_SPARE_ROWS", 0)
    for number in range(40):
        commit_files(net, {"a": f"{number}", "b": f"-{number}"})
    head = revision_get(net)
    assert FileSeries.objects.count() > 5
    for series in FileSeries.objects.all():
        assert series.fewest_files == min(one.file_count for one in series.revisions.all())
        assert series.files.count() == series.row_count <= 4 * series.fewest_files
    # Two are written by each commit, and two are copied after each seven.
    assert File.objects.count() < 100
    assert paths(head) == {"a", "b", "d/a"}
    assert head.files.get(path="d/a").changed_in.position == 1
    assert list(fsck()) == []


def test_rows_go_with_the_last_revision_that_has_them(net: MLModel, alice: User) -> None:
    start = revision_get(net)
    branch(net, "other", start)
    dropped = commit_files(net, {"a": "other", "d/a": None}, branch="other")
    assert dropped.series == start.series
    ref_delete(actor=None, mlmodel=net, kind=RefKind.BRANCH, name="other")
    assert prune() == 1
    assert paths(start) == {"a", "b", "d/a"}
    assert not File.objects.filter(first=dropped.position).exists()
    # Positions are not used again: what ended there stays so.
    following = commit_files(net, {"c": "c"})
    assert following.series != start.series
    assert paths(following) == {"a", "b", "c", "d/a"}
    made = squash(actor=alice, mlmodel=net, branch="main", message="Forget")
    assert prune() == 3
    assert FileSeries.objects.get() == made.series
    assert list(fsck()) == []
    mlmodel_delete(actor=alice, mlmodel=net)
    assert not File.objects.exists()
    assert not FileSeries.objects.exists()


def test_the_database_refuses_two_open_rows_of_a_path(net: MLModel) -> None:
    head = revision_get(net)
    blob = head.files.get(path="a").blob
    with pytest.raises(IntegrityError), transaction.atomic():
        file_row(head, "a", blob)
    with pytest.raises(IntegrityError), transaction.atomic():
        File.objects.filter(path="a").update(end=head.position)
    with pytest.raises(IntegrityError), transaction.atomic():
        Revision.objects.filter(pk=head.pk).update(position=0)


def test_rows_that_overlap_and_rows_of_no_revision_are_reported(net: MLModel) -> None:
    head = commit_files(net, {"a": "second"})
    ended, newer = File.objects.filter(path="a").order_by("first")
    File.objects.filter(pk=ended.pk).update(end=head.position + 5)
    (fault,) = fsck()
    assert (fault.kind, fault.subject) == ("file_twice", f"file {newer.pk} a")
    File.objects.filter(pk=ended.pk).update(first=head.position + 3, path="lost")
    lost, wrong = fsck()
    assert (lost.kind, lost.subject) == ("file_lost", f"file {ended.pk} lost")
    assert wrong.kind == "revision_wrong"
    File.objects.filter(pk=ended.pk).update(first=1, end=head.position, path="a")
    assert list(fsck()) == []
    other = make_mlmodel("alice/other")
    FileSeries.objects.filter(pk=head.series_id).update(mlmodel=other)
    kinds = {fault.kind for fault in fsck()}
    assert kinds == {"revision_wrong", "usage_wrong"}


def test_descriptions_of_revisions_that_share_rows_list_the_files_of_each(
    charlie: User, lab: object, data_dir: Path
) -> None:
    mlmodel = many_files(MAX_FILES + 50, charlie)
    first = revision_get(mlmodel)
    second = commit_files(mlmodel, {"data/00000/000001.bin": None, "zzz": "z"}, actor=charlie)
    third = commit_files(mlmodel, {"data/": None, "README.md": "# Few"}, actor=charlie)
    assert first.series == second.series == third.series
    listed = listed_files([first, second, third], {first.pk: ["zzz"], second.pk: ["zzz"]})
    for revision in (first, second, third):
        all_paths = list(revision.files.order_by("path").values_list("path", flat=True))
        expected = all_paths[:MAX_FILES] + (["zzz"] if revision == second else [])
        assert [row.path for row in listed[revision.pk]] == expected


def test_reads_are_index_lookups(charlie: User, lab: object, data_dir: Path) -> None:
    mlmodel = many_files(5_000, charlie)
    for number in range(3):
        changes = {f"data/{number:05}/{number:06}.bin": f"{number}", "README.md": f"# {number}"}
        commit_files(mlmodel, changes, actor=charlie)
    other = make_mlmodel("lab/other", actor=charlie, files={"README.md": "# Other"})
    head = revision_get(mlmodel)
    old, common = head.parent, store(b"the same", charlie)
    assert old is not None
    rare = head.files.get(path="README.md").blob
    # The nine blobs may be read as a whole; the five thousand files may not.
    for revision in (head, old):
        page = partial(tree_page, revision, limit=20)
        assert_reads_few(partial(files_get, revision, ["data/00003/000301.bin"]), most=15)
        assert_reads_few(partial(page, "data/00007", recursive=False), most=60)
        assert_reads_few(partial(page, "", recursive=True), most=120)
        assert_reads_few(revision.files.filter(blob=rare).exists, most=15)
    for blob in (common, rare):
        for repository in (mlmodel, other):
            assert_reads_few(partial(bytes_added, repository, {blob.pk: 1}), most=30)
            assert_reads_few(partial(blobs_held, repository, [blob.pk]), most=30)
        assert_reads_few(partial(blobs_usable, charlie, [blob.pk]), most=40)
    # Ordered as their index is.
    plan = head.files.filter(path__gt="data/00005").order_by("path")[:100].explain()
    assert "file_path_unique" in plan or "USING INDEX" in plan
    assert not any(word in plan for word in ("SCAN", "Sort", "TEMP B-TREE"))


def test_rows_are_ended_by_index(charlie: User, lab: object, data_dir: Path) -> None:
    mlmodel = many_files(5_000, charlie)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    with CaptureQueriesContext(connection) as captured:
        commit_files(mlmodel, {"data/00000/000001.bin": None}, actor=charlie)
    (update,) = [one["sql"] for one in captured if 'SET "end"' in one["sql"]]
    with connection.cursor() as cursor:
        explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
        cursor.execute(f"{explain} {update}")
        plan = str(cursor.fetchall())
    assert "Seq Scan on registry_file" not in plan
    assert "SCAN registry_file" not in plan
    assert "file_path_unique" in plan or "path=?" in plan
