"""One folder of a revision, and what lies between two revisions."""

import pytest

from registry.errors import NotFound
from registry.selectors.repository.difference import difference, lines_of
from registry.selectors.repository.folder import folder_get
from registry.tables import MLModel, Revision, User
from tests.factories import commit_files

pytestmark = pytest.mark.django_db

#: Names that sort, match or escape differently from one database to the next.
ODD = ["a.b/c", "a-b", "a/b/c", "a/d", "%_/x", "é/ü", "Z", "z1", "'/\"", "a b/c d", "100%/_"]


@pytest.fixture
def odd(galaxy: MLModel, charlie: User) -> Revision:
    return commit_files(galaxy, {path: path for path in ODD}, actor=charlie)


def naive(paths: list[str], folder: str) -> dict[str, int]:
    """Name of each entry to the number of files in it, 0 for a file."""
    prefix = f"{folder}/" if folder else ""
    found: dict[str, int] = {}
    for path in paths:
        if path.startswith(prefix):
            name, slash, _ = path[len(prefix) :].partition("/")
            found[name] = found.get(name, 0) + len(slash)
    return found


@pytest.mark.parametrize("folder", ["", "a", "a/b", "%_", "é", "'", "a b", "100%"])
def test_a_folder_holds_what_its_paths_say(odd: Revision, folder: str) -> None:
    listed = folder_get(odd, folder)
    shown = {entry.name: 0 if entry.file else entry.files for entry in listed.entries}
    assert shown == naive(list(odd.files.values_list("path", flat=True)), folder)
    assert [entry.file is None for entry in listed.entries] == sorted(
        (entry.file is None for entry in listed.entries), reverse=True
    )


@pytest.mark.parametrize("folder", ["A", "Z", "a/", "_", "%", "e", "a/b/c", "\0"])
def test_what_is_no_folder_is_not_found(odd: Revision, folder: str) -> None:
    with pytest.raises(NotFound):
        folder_get(odd, folder)


def test_sizes_and_changes_are_those_of_all_that_is_inside(
    odd: Revision, galaxy: MLModel, charlie: User
) -> None:
    newest = commit_files(galaxy, {"a/b/c": "longer than before"}, actor=charlie)
    entries = {entry.name: entry for entry in folder_get(newest, "").entries}
    assert entries["a"].changed_in == newest
    assert entries["a.b"].changed_in == odd
    assert entries["a"].size_bytes == len("longer than before") + len("a/d")


def test_a_difference_names_what_was_added_changed_and_deleted(
    odd: Revision, galaxy: MLModel, charlie: User
) -> None:
    changes = {"Z": "other\n", "a/b/c": None, "new": "new\n"}
    newest = commit_files(galaxy, changes, actor=charlie)
    found = difference(odd, newest)
    verbs = {change.path: change.verb for change in found.changes}
    assert verbs == {"Z": "changed", "a/b/c": "deleted", "new": "added"}
    assert found.total == 3
    assert [len(difference(odd, newest, limit=limit).changes) for limit in (1, 2)] == [1, 2]
    assert difference(newest, newest).changes == []
    by_path = {change.path: change for change in found.changes}
    assert lines_of(by_path["new"]) == ["@@ -0,0 +1 @@", "+new"]
    assert lines_of(by_path["a/b/c"]) == ["@@ -1 +0,0 @@", "-a/b/c"]


def test_what_is_no_text_or_too_long_has_no_lines(
    odd: Revision, galaxy: MLModel, charlie: User
) -> None:
    large = {"large": "x\n" * 150_000, "many": "\n" * 6000, "binary": b"\xff\0", "bell": "\a\n"}
    newest = commit_files(galaxy, large, actor=charlie)
    assert [lines_of(change) for change in difference(odd, newest).changes] == [None] * 4
