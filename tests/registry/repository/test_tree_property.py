"""Pages of any tree, and names of any revision before any path, against the plain definition."""

from contextlib import suppress
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from registry.errors import NotFound
from registry.selectors.repository.revision import revision_along, revision_get
from registry.selectors.repository.tree import bytes_below, changes_of, entries_at, tree_page
from registry.states import RefKind
from registry.tables import Blob, MLModel, Ref, Revision, User
from tests.factories import file_row, make_mlmodel, revision_row, store

pytestmark = pytest.mark.django_db

names = count()
part = st.sampled_from(
    ["a", "b", "a.", "a-b", "A", "é", "日", "0", " ", "%41", "\U0001f600", "\uffee"]
)
path = st.lists(part, min_size=1, max_size=3).map("/".join)
relaxed = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _revision(mlmodel: MLModel, blob: Blob, paths: set[str], number: int) -> Revision:
    oid = f"{number:040x}"
    revision = revision_row(
        mlmodel,
        oid=oid,
        tree_oid=oid,
        message="m",
        file_count=len(paths),
        size_bytes=blob.size_bytes * len(paths),
    )
    for each in paths:
        file_row(revision, each, blob, oid=oid)
    return revision


def _folders(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:length]) for length in range(1, len(parts))}


@relaxed
@given(drawn=st.sets(path, max_size=12), limit=st.integers(1, 5), recursive=st.booleans())
@example(drawn={"\uffee", "\U0001f600", "a/b"}, limit=1, recursive=True)
def test_pages_hold_every_entry_once_and_in_order(
    alice: User, *, drawn: set[str], limit: int, recursive: bool
) -> None:
    above = set().union(*map(_folders, drawn)) if drawn else set()
    files = drawn - above
    mlmodel = make_mlmodel(f"alice/tree{next(names)}", actor=alice)
    revision = _revision(mlmodel, store(b"four", alice), files, next(names))
    for folder in ["", *above]:
        prefix = f"{folder}/" if folder else ""
        within = {p for p in files | above if p.startswith(prefix)}
        if not recursive:
            within = {p for p in within if "/" not in p[len(prefix) :]}
        found, cursor = [], None
        for _ in range(len(within) + 1):
            page = tree_page(revision, folder, recursive=recursive, cursor=cursor, limit=limit)
            assert len(page.items) <= limit
            found += page.items
            cursor = page.next
            if cursor is None:
                break
        # Python orders texts by code point, and UTF-8 bytes sort alike.
        assert [entry.path for entry in found] == sorted(within)
        assert {entry.path for entry in found if entry.file} == within & files
        assert bytes_below(revision, folder) == 4 * sum(p.startswith(prefix) for p in files)
    everything = entries_at(revision, sorted(files | above | {"gone"}))
    assert {entry.path for entry in everything} == files | above
    assert set(changes_of(revision, everything).values()) <= {revision}
    assert set(changes_of(revision, everything)) == files | above


@relaxed
@given(
    st.sets(path, max_size=5), st.sets(path, max_size=5), st.lists(part, max_size=3).map("/".join)
)
def test_the_longest_name_wins_and_a_branch_before_a_tag(
    alice: User, branches: set[str], tags: set[str], rest: str
) -> None:
    mlmodel = make_mlmodel(f"alice/refs{next(names)}", actor=alice)
    blob = store(b"four", alice)
    held: dict[tuple[str, str], Revision] = {}
    for kind, given_names in ((RefKind.BRANCH, branches), (RefKind.TAG, tags)):
        for name in given_names:
            made = _revision(mlmodel, blob, set(), next(names))
            Ref.objects.create(mlmodel=mlmodel, kind=kind, name=name, revision=made)
            held[kind, name] = made
    for (kind, name), named in held.items():
        place = f"{name}/{rest}" if rest else name
        beginnings = [name, *(f"{name}/{more}" for more in _folders(f"{rest}/x") if rest)]
        longest = max((b for b in beginnings if b in branches | tags), key=len)
        expected = held.get((RefKind.BRANCH, longest)) or held[RefKind.TAG, longest]

        assert revision_along(mlmodel, place) == (longest, expected, place[len(longest) + 1 :])
        spelled = f"refs/{'heads' if kind == RefKind.BRANCH else 'tags'}/{name}"
        assert revision_get(mlmodel, spelled) == named


@given(st.text())
@relaxed
def test_any_text_names_a_revision_or_is_not_found(alice: User, text: str) -> None:
    mlmodel = make_mlmodel(f"alice/any{next(names)}", actor=alice)
    with suppress(NotFound):
        name, revision, rest = revision_along(mlmodel, text)
        assert revision == mlmodel.refs.get().revision
        assert text in (name, f"{name}/{rest}")
