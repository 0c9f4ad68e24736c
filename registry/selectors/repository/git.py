"""An MLModel as a git repository: its commits, and the objects somebody lacks.

Nothing is kept for git. Commits, trees and pointers are made anew from rows, whose ids are git's
own; a blob is a stored file. A history is a forest: a commit has one parent or none, and a parent
has the smaller key.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from django.db.models import F, QuerySet

from registry import storage
from registry.errors import NotFound
from registry.selectors.repository.revision import pulls_of, refs_of
from registry.states import RefKind
from registry.storage.git import commit_content, lfs_pointer
from registry.storage.tree import Tree
from registry.tables import File, MLModel, Revision

_FOLDERS = {
    RefKind.BRANCH: "refs/heads/",
    RefKind.TAG: "refs/tags/",
    RefKind.PULL: "refs/pr/",
}
# What somebody has is looked at for so many commits. Objects found there need not be sent; one
# that is sent again does no harm.
_LOOKED_AT = 16


@dataclass(frozen=True, slots=True)
class Commit:
    """A revision, as far as its place in history goes.

    Attributes:
        parent: The parent's key.
        made_s: When it was made, in seconds since 1970.
    """

    key: int
    oid: str
    parent: int | None
    made_s: float


@dataclass(frozen=True, slots=True)
class Content:
    """A commit or tree, made from rows."""

    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A blob object: a stored file, or the pointer to it where it is in large file storage."""

    sha256: str
    size_bytes: int
    is_lfs: bool

    def read(self) -> bytes:
        """Its bytes. What is not in large file storage is small.

        Raises:
            NotFound: ``blob_not_found``.
        """
        if self.is_lfs:
            return lfs_pointer(self.sha256, self.size_bytes)
        with storage.blob_store().open(self.sha256) as stream:
            return stream.read()


@dataclass(frozen=True, slots=True)
class References:
    """What a repository advertises.

    Attributes:
        head: The full name of the default branch.
        names: Full name (``refs/heads/main``) to commit id, sorted.
    """

    head: str
    names: dict[str, str]


def references(mlmodel: MLModel) -> References:
    """The names of ``mlmodel``'s revisions: branches, pull requests and tags."""
    rows = [*refs_of(mlmodel), *pulls_of(mlmodel)]
    named = {_FOLDERS[RefKind(row.kind)] + row.name: row.revision.oid for row in rows}
    return References(f"refs/heads/{mlmodel.default_branch}", dict(sorted(named.items())))


def commits_of(mlmodel: MLModel) -> dict[int, Commit]:
    """All of its commits by key, parents first."""
    rows = mlmodel.revisions.order_by("pk").values_list("pk", "oid", "parent_id", "created_at")
    return {
        key: Commit(key, oid, parent, made.timestamp())
        for key, oid, parent, made in rows.iterator(chunk_size=2000)
    }


def objects_of(
    commits: dict[int, Commit], *, send: Collection[int], known: Collection[int]
) -> Iterator[Content | StoredFile]:
    """The objects of the commits ``send`` that those of ``known`` do not have, each once.

    Args:
        commits: All of the repository, parents first.
        send: Keys of commits.
        known: Keys of commits that are there already, with all of their objects.

    Raises:
        NotFound: a revision was deleted meanwhile, ``revision_not_found``.
    """
    sent = _Sent()
    for key in _nearest(commits, send, known):
        sent.note(_read(key))
    for line in _lines(commits, send):
        state = None
        for key in line:
            revision = Revision.objects.select_related("parent").filter(pk=key).first()
            if revision is None:
                raise NotFound("revision_not_found", "A revision was deleted meanwhile.")
            yield Content("commit", _commit_content(revision))
            state = _grow(state.tree, revision) if state else _read(key)
            yield from sent.new_of(state)


_Row = tuple[str, str, bool, str, int]


@dataclass(frozen=True, slots=True)
class _State:
    """A revision's tree; the tree objects and files that may be new in it."""

    tree: Tree
    trees: Sequence[tuple[str, bytes]]
    files: Sequence[_Row]


@dataclass(slots=True)
class _Sent:
    """Ids of trees and blobs, 20 bytes each, that need not be sent any more."""

    oids: set[bytes] = field(default_factory=set)

    def note(self, state: _State) -> None:
        """Note all of a revision that was read whole."""
        self.oids.update(bytes.fromhex(oid) for oid, _ in state.trees)
        self.oids.update(bytes.fromhex(oid) for _, oid, *_ in state.files)

    def new_of(self, state: _State) -> Iterator[Content | StoredFile]:
        """What was not sent before, and now is."""
        for oid, content in state.trees:
            if self._is_new(oid):
                yield Content("tree", content)
        for _, oid, is_lfs, sha256, size_bytes in state.files:
            if self._is_new(oid):
                yield StoredFile(sha256, size_bytes, is_lfs)

    def _is_new(self, oid: str) -> bool:
        raw = bytes.fromhex(oid)
        if raw in self.oids:
            return False
        self.oids.add(raw)
        return True


def _nearest(
    commits: dict[int, Commit], send: Collection[int], known: Collection[int]
) -> list[int]:
    """The newest of what is known and what is sent builds on, and the newest known at all."""
    built_on = {commits[key].parent for key in send} & set(known)
    near = {key for key in built_on if key is not None} | ({max(known)} if known else set())
    return sorted(near)[-_LOOKED_AT:]


def _lines(commits: dict[int, Commit], send: Collection[int]) -> Iterator[list[int]]:
    """``send`` cut into lines in which each commit is the parent of the next."""
    children: dict[int | None, list[int]] = {}
    for key in sorted(send, reverse=True):
        children.setdefault(commits[key].parent, []).append(key)
    left = dict.fromkeys(sorted(send))
    while left:
        line = [next(iter(left))]
        while below := children.get(line[-1]):
            line.append(below.pop())
        for key in line:
            del left[key]
        yield line


def _grow(tree: Tree, revision: Revision) -> _State:
    """``revision``, grown out of its parent's tree.

    What it put there is known (``changed_in``), what it deleted is not: where the id does not
    come out, the whole revision is read.
    """
    files = list(_rows(revision.files.filter(changed_in=F("revision"))))
    for path, oid, *_ in files:
        tree.put(path, oid)
    trees = list(tree.changed())
    return _State(tree, trees, files) if tree.oid == revision.tree_oid else _read(revision.pk)


def _read(key: int) -> _State:
    tree, files = Tree(), list(_rows(File.objects.filter(revision=key)))
    for path, oid, *_ in files:
        tree.put(path, oid)
    return _State(tree, list(tree.changed()), files)


def _rows(files: QuerySet[File]) -> Iterator[_Row]:
    columns = "path", "oid", "is_lfs", "blob_id", "blob__size_bytes"
    return files.values_list(*columns).iterator(chunk_size=2000)


def _commit_content(revision: Revision) -> bytes:
    return commit_content(
        tree=revision.tree_oid,
        parent=revision.parent.oid if revision.parent else None,
        author_line=revision.author_line,
        message=revision.message,
    )
