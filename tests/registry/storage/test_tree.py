"""A tree that grows is the tree that is made at once."""

from hypothesis import given
from hypothesis import strategies as st

from registry.storage.git import GitTree, blob_oid, object_oid, tree_oid

# No folder is called like a file, as in any revision.
PATHS = st.builds(
    lambda folders, name: "/".join([*folders, name]),
    st.lists(st.sampled_from(["a", "a.b", "a-b", "ä"]), max_size=3),
    st.sampled_from(["x", "y", "a.x", "a0"]),
)
STEPS = st.lists(st.dictionaries(PATHS, st.binary(max_size=2), max_size=4), max_size=5)


@given(steps=STEPS)
def test_each_step_names_what_changed_and_comes_to_the_same_id(
    steps: list[dict[str, bytes]],
) -> None:
    tree, files, seen = GitTree(), dict[str, str](), dict[str, bytes]()
    for step in steps:
        for path, data in step.items():
            files[path] = blob_oid(data)
            tree.put(path, files[path])
        changed = dict(tree.changed())
        assert all(object_oid("tree", content) == oid for oid, content in changed.items())
        seen |= changed
        if files:
            assert tree.oid == tree_oid(files)
            assert tree.oid in seen
        assert not list(tree.changed())
