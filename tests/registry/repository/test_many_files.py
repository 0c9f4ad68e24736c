"""Costs of versions with many files, which do not grow with their number, and their trees."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from registry.selectors.repository.details import Details
from registry.selectors.repository.file import MAX_LISTED
from registry.selectors.repository.folder import folder_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.repository.tree import entries_at, tree_page
from registry.services.repository.revision import Add, Copy, Delete, commit, squash
from registry.services.storage.fsck import fsck
from registry.services.storage.prune import revisions_prune
from registry.states import RepositoryKind
from registry.storage.git import tree_objects, tree_oid
from registry.tables import MLModel, Tree, User
from tests.costs import Costs, costs_of
from tests.factories import commit_files, make_mlmodel, store

pytestmark = pytest.mark.django_db

SIZES = (2_000, 20_000)


def many_files(number: int, actor: User, *, flat: bool = False) -> MLModel:
    """A data set of ``number`` small equal files, in one folder or in folders of a hundred."""
    mlmodel = make_mlmodel(f"lab/many-{number}", actor=actor, kind=RepositoryKind.DATASET)
    blob = store(b"the same", actor)
    paths = (f"data/{one // (number if flat else 100):05}/{one:06}.bin" for one in range(number))
    operations = [Add(path, blob.sha256) for path in paths]
    commit(
        actor=actor,
        mlmodel=mlmodel,
        message="Add all",
        operations=operations,
        is_checked=False,
    )
    return mlmodel


@pytest.mark.parametrize("form", ["flat", "nested"])
def test_a_commit_of_one_file_costs_the_same_onto_many(
    charlie: User, lab: object, data_dir: Path, form: str
) -> None:
    costs: list[Costs] = []
    for number in SIZES:
        mlmodel = many_files(number, charlie, flat=form == "flat")
        stored = Tree.objects.filter(mlmodel=mlmodel).count()
        with costs_of() as cost:
            commit_files(mlmodel, {"data/00000/new.txt": f"{number}"}, actor=charlie)
            commit_files(mlmodel, {"data/00000/000001.bin": None}, actor=charlie)
        costs.append(cost)
        # Of two commits: the root, ``data`` and the folder, each with pointers and without.
        assert Tree.objects.filter(mlmodel=mlmodel).count() == stored + 12
        revision = revision_get(mlmodel)
        files = dict(revision.files.values_list("path", "oid"))
        assert revision.tree_oid == tree_oid(files)
        assert revision.file_count == len(files) == number + 1
    assert costs[0].statements == costs[1].statements
    assert max(cost.rows for cost in costs) < 100


def test_pages_of_files_cost_the_same_among_many(
    charlie: User, lab: object, data_dir: Path
) -> None:
    costs: list[Costs] = []
    for number in SIZES:
        revision = revision_get(many_files(number, charlie))
        with costs_of() as cost:
            first = tree_page(revision, "", recursive=True, limit=100)
            tree_page(revision, "", recursive=True, cursor=first.next, limit=100)
            tree_page(revision, "data/00003", recursive=False, limit=100)
            entries_at(revision, ["data/00003", "data/00003/000301.bin", "nothing"])
            folder_get(revision, "data/00003")
        costs.append(cost)
    assert costs[0] == costs[1]
    assert costs[0].rows < 600


def test_a_page_is_read_in_the_order_of_the_index(
    charlie: User, lab: object, data_dir: Path
) -> None:
    revision = revision_get(many_files(SIZES[0], charlie))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE registry_file")
    rows = revision.files.filter(path__gt="data/00005").order_by("path")[:100]
    plan = rows.explain()
    assert "USING INDEX" in plan or "file_path_unique" in plan
    assert "SCAN" not in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan
    assert [row.path for row in rows] == sorted(row.path for row in rows)


def test_information_lists_all_files_or_none(charlie: User, lab: object, data_dir: Path) -> None:
    mlmodel = many_files(MAX_LISTED, charlie)
    details = Details(mlmodel, revision_get(mlmodel))
    assert not details.is_short
    assert len(details.paths) == len(details.files) == MAX_LISTED


def test_many_copies_cost_as_many_statements_as_few(
    charlie: User, lab: object, data_dir: Path
) -> None:
    mlmodel = many_files(450, charlie)
    costs = []
    for number in (5, 400):
        operations = [
            Copy(f"{number}/{one}.bin", f"data/{one // 100:05}/{one:06}.bin", "main")
            for one in range(number)
        ]
        with costs_of() as cost:
            commit(
                actor=charlie,
                mlmodel=mlmodel,
                message="Copy",
                operations=operations,
                is_checked=False,
            )
        costs.append(cost.statements)
    # Rows are written some hundreds at once.
    assert costs[1] - costs[0] < 5


def test_older_revisions_have_their_trees_computed(
    charlie: User, lab: object, data_dir: Path
) -> None:
    mlmodel = many_files(300, charlie)
    Tree.objects.all().delete()
    revision = revision_get(mlmodel)
    assert {one.path for one in tree_page(revision, "", recursive=False, limit=9).items} == {
        ".gitattributes",
        "data",
    }
    commit_files(mlmodel, {"data/new": "new"}, actor=charlie)
    newest = revision_get(mlmodel)
    assert newest.tree_oid == tree_oid(dict(newest.files.values_list("path", "oid")))
    assert Tree.objects.filter(mlmodel=mlmodel, oid=newest.tree_oid).exists()
    assert Tree.objects.filter(mlmodel=mlmodel, oid=revision.tree_oid).exists()


def test_sums_follow_every_kind_of_change(charlie: User, lab: object, data_dir: Path) -> None:
    mlmodel = make_mlmodel("lab/sums", actor=charlie, files={"a/one": "1", "a/two": "22"})
    large = store(b"x" * 64, charlie)
    commit(
        actor=charlie,
        mlmodel=mlmodel,
        message="Change all",
        operations=[
            Delete("a/"),
            Add("a/one", store(b"1", charlie).sha256),
            Add("b.bin", large.sha256, is_lfs=True),
        ],
        is_checked=False,
    )
    revision = revision_get(mlmodel)
    assert set(revision.files.values_list("path", flat=True)) == {
        ".gitattributes", "a/one", "b.bin",
    }  # fmt: skip
    assert revision.directory_oid != revision.tree_oid
    # The file that was deleted and put again is as it was.
    remaining = revision.files.get(path="a/one")
    assert remaining.changed_in == revision.parent
    assert list(fsck()) == []


def test_trees_go_with_the_last_revision_that_has_them(
    charlie: User, lab: object, data_dir: Path
) -> None:
    mlmodel = make_mlmodel("lab/pruned", actor=charlie, files={"a/one": "1", "b/two": "2"})
    commit_files(mlmodel, {"a/one": "other"}, actor=charlie)
    stored = Tree.objects.filter(mlmodel=mlmodel).count()
    squash(actor=charlie, mlmodel=mlmodel, branch="main", message="Forget")
    assert revisions_prune(before=timezone.now() + timedelta(days=1)) == 3
    files = revision_get(mlmodel).files.values_list("path", "oid")
    _, contents = tree_objects(files)
    trees = dict(Tree.objects.filter(mlmodel=mlmodel).values_list("oid", "content"))
    assert {oid: bytes(content) for oid, content in trees.items()} == contents
    assert len(trees) < stored
