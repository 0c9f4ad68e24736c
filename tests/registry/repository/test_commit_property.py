"""Any sequence of commits leaves the files a dictionary would hold, or is refused whole."""

import hashlib
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.errors import RegistryError
from registry.selectors.repository.revision import files_of, history, revision_get
from registry.services.repository.revision import Add, Copy, Delete, Operation, commit
from registry.storage.git import tree_oid
from registry.tables import User
from registry.validation.attributes import DEFAULT
from tests.factories import make_mlmodel, store

names = count()
path = st.sampled_from(["a", "b", "A", "d/a", "d/b", "d/e/f", "a/x", "../a", "README.md"])
content = st.sampled_from([b"", b"1", b"2", b"---\n[\n---\n"])
put = st.tuples(st.just("put"), path, content)
copy = st.tuples(st.just("copy"), path, path)
delete = st.tuples(st.just("delete"), path | st.sampled_from(["d", "d/"]), st.none())
commits = st.lists(st.lists(put | copy | delete, min_size=1, max_size=4), max_size=6)


def expected(
    before: dict[str, bytes], steps: list[tuple[str, str, bytes | str | None]]
) -> dict[str, bytes]:
    """The files after ``steps``: deletions, then what is put, both from what was there before."""
    after = dict(before)
    for kind, where, _ in steps:
        if kind == "delete":
            folder = where.rstrip("/") + "/"
            after = {p: d for p, d in after.items() if p != where and not p.startswith(folder)}
    for kind, where, what in steps:
        if kind == "put":
            assert isinstance(what, bytes)
            after[where] = what
        elif kind == "copy":
            after[where] = before[str(what)]
    return after


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(commits)
def test_commits_do_what_they_say_or_nothing(
    alice: User, commits: list[list[tuple[str, str, bytes | str | None]]]
) -> None:
    net = make_mlmodel(f"alice/net{next(names)}", actor=alice)
    held: dict[str, bytes] = {".gitattributes": DEFAULT}
    done = 1
    for steps in commits:
        operations: list[Operation] = []
        for _, where, what in steps:
            if isinstance(what, bytes):
                operations.append(Add(where, store(what, alice).sha256))
            else:
                operations.append(Copy(where, str(what), "main") if what else Delete(where))
        try:
            commit(actor=alice, mlmodel=net, message="-", operations=operations, is_checked=False)
        except RegistryError:
            pass
        else:
            held = expected(held, steps)
            done += 1
        head = revision_get(net)
        files = list(files_of(head))
        digests = {where: hashlib.sha256(data).hexdigest() for where, data in held.items()}
        assert {file.path: file.blob_id for file in files} == digests
        assert head.tree_oid == tree_oid({file.path: file.oid for file in files})
        assert history(net, head).count() == done
