"""Trees that are changed in part have the ids and contents of trees that are made anew."""

from hypothesis import given
from hypothesis import strategies as st

from registry.storage.foldertree import FolderTree
from registry.storage.git import blob_oid, tree_content, tree_entries, tree_objects

_NAMES = st.sampled_from(["a", "a-b", "a.b", "b", "c", "é", "z0"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_OIDS = st.integers(0, 5).map(lambda number: blob_oid(b"%d" % number))


def coexisting(files: dict[str, str]) -> dict[str, str]:
    """Without files that would have to be folders."""
    folders = {path[:place] for path in files for place, one in enumerate(path) if one == "/"}
    return {path: oid for path, oid in files.items() if path not in folders}


@given(st.dictionaries(_PATHS, _OIDS), st.dictionaries(_PATHS, st.none() | _OIDS))
def test_a_changed_tree_is_that_of_all_files(
    before: dict[str, str], changes: dict[str, str | None]
) -> None:
    before = coexisting(before)
    root, contents = tree_objects(before.items())
    tree = FolderTree(root, contents.__getitem__)
    after = dict(before)
    for path, oid in changes.items():
        if oid is None:
            tree.remove(path)
            after.pop(path, None)
        elif tree.oid_at(path) is not None or tree.rival(path) is None:
            tree.put(path, oid)
            after[path] = oid
    assert after == coexisting(after)
    expected, everything = tree_objects(after.items())
    oid, changed = tree.write()
    assert oid == expected
    assert everything.items() <= (contents | changed).items()
    assert {path: tree.oid_at(path) for path in after} == after
    assert sorted(
        one for name in {p.split("/")[0] for p in after} for one in tree.paths_at(name)
    ) == sorted(after)


def test_only_folders_on_the_way_to_a_change_are_read() -> None:
    files = {
        f"{one}/{two}/{three}": blob_oid(b"") for one in "ab" for two in "cd" for three in "ef"
    }
    root, contents = tree_objects(files.items())
    reads = []

    def load(oid: str) -> bytes:
        reads.append(oid)
        return contents[oid]

    tree = FolderTree(root, load)
    tree.put("a/c/new", blob_oid(b"new"))
    _, changed = tree.write()
    assert len(reads) == len(changed) == 3


def test_what_cannot_be_beside_a_file_is_named() -> None:
    root, contents = tree_objects((path, blob_oid(b"")) for path in ["Data/one", "é"])
    tree = FolderTree(root, contents.__getitem__)
    assert tree.rival("data/two") == ("data", "Data")
    assert tree.rival("Data/ONE") == ("Data/ONE", "Data/one")
    assert tree.rival("Data") == ("Data", "Data")
    assert tree.rival("Data/one/below") == ("Data/one", "Data/one")
    assert tree.rival("e\u0301") == ("e\u0301", "é")
    assert tree.rival("Data/two") is None
    tree.remove("Data/one")
    assert tree.rival("data/two") is None


def test_a_name_may_hold_the_bytes_of_an_entry() -> None:
    files = {"40000 a": blob_oid(b"a"), "100644 b\n": blob_oid(b"b")}
    folders = {"100644 c": "0" * 40}
    assert tree_entries(tree_content(files, folders)) == (files, folders)
    assert tree_entries(b"") == ({}, {})
