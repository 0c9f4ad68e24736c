"""An MLModel as a git repository: its commits, and the objects that a client lacks.

No git objects are stored. Commits, trees and LFS pointers are built from rows, which hold git's own
ids; a blob object is a stored file. A history is a forest: a commit has at most one parent, and a
parent has the smaller key.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from registry import storage
from registry.errors import NotFound
from registry.selectors.repository.revision import pulls_of, refs_of
from registry.states import RefKind
from registry.storage.git import GitTree, commit_content, lfs_pointer
from registry.tables import File, MLModel, Revision

_FOLDERS = {RefKind.BRANCH: "refs/heads/", RefKind.TAG: "refs/tags/", RefKind.PULL: "refs/pr/"}
# Commits of the client that are read to find objects it has. Sending an object again is harmless.
_MOST_COMMITS_READ = 16


@dataclass(frozen=True, slots=True)
class Commit:
    """A revision in history, its parent's key, and its Unix time in seconds (``made_s``)."""

    key: int
    oid: str
    parent: int | None
    made_s: float


@dataclass(frozen=True, slots=True)
class GitObject:
    """A commit or tree object, built from rows."""

    kind: str
    content: bytes


@dataclass(frozen=True, slots=True)
class GitBlob:
    """A blob object: a stored file, or the pointer to it if it is in large file storage."""

    sha256: str
    size_bytes: int
    is_lfs: bool

    def read(self) -> bytes:
        """The bytes. Files that are not in large file storage are small.

        Raises ``NotFound``: ``blob_not_found``.
        """
        if self.is_lfs:
            return lfs_pointer(self.sha256, self.size_bytes)
        with storage.blob_store().open(self.sha256) as stream:
            return stream.read()


@dataclass(frozen=True, slots=True)
class GitReferences:
    """References that a repository advertises.

    ``head`` is the full name of the default branch; ``names`` maps full names (``refs/heads/main``)
    to commit ids, sorted.
    """

    head: str
    names: dict[str, str]


def references(mlmodel: MLModel) -> GitReferences:
    """The branches, pull requests and tags of ``mlmodel``."""
    rows = [*refs_of(mlmodel), *pulls_of(mlmodel)]
    names = {_FOLDERS[RefKind(row.kind)] + row.name: row.revision.oid for row in rows}
    return GitReferences(f"refs/heads/{mlmodel.default_branch}", dict(sorted(names.items())))


def commits_of(mlmodel: MLModel) -> dict[int, Commit]:
    """All commits of ``mlmodel`` by key, parents first."""
    rows = mlmodel.revisions.order_by("pk").values_list("pk", "oid", "parent_id", "created_at")
    return {
        key: Commit(key, oid, parent, created_at.timestamp())
        for key, oid, parent, created_at in rows.iterator(chunk_size=2000)
    }


def objects_of(
    commits: dict[int, Commit], *, send: Collection[int], have: Collection[int]
) -> Iterator[GitObject | GitBlob]:
    """The objects of the commits ``send`` that the client lacks, each once.

    Raises ``NotFound``: ``revision_not_found`` if a revision was deleted meanwhile.

    Args:
        commits: All commits of the repository, parents first.
        send: Keys of commits to send.
        have: Keys of commits that the client has, with all of their objects.
    """
    sent = _Sent()
    for key in _nearest(commits, send, have):
        sent.note(_read(key))
    for line in _lines(commits, send):
        state = None
        for key in line:
            revision = Revision.objects.select_related("parent").filter(pk=key).first()
            if revision is None:
                raise NotFound("revision_not_found", "A revision was deleted meanwhile.")
            yield GitObject("commit", _commit_content(revision))
            state = _grow(state.tree, revision) if state else _read(key)
            yield from sent.new_of(state)


_Row = tuple[str, str, bool, str, int]


@dataclass(frozen=True, slots=True)
class _State:
    """A revision's tree, and the tree objects and files in it that may be new."""

    tree: GitTree
    trees: Sequence[tuple[str, bytes]]
    files: Sequence[_Row]


@dataclass(slots=True)
class _Sent:
    """Ids (20 bytes each) of trees and blobs that the client has or was sent."""

    oids: set[bytes] = field(default_factory=set)

    def note(self, state: _State) -> None:
        """Add all trees and files of a revision that was read as a whole."""
        self.oids.update(bytes.fromhex(oid) for oid, _ in state.trees)
        self.oids.update(bytes.fromhex(oid) for _, oid, *_ in state.files)

    def new_of(self, state: _State) -> Iterator[GitObject | GitBlob]:
        """The objects of ``state`` that were not sent before; they count as sent from now on."""
        for oid, content in state.trees:
            if self._is_new(oid):
                yield GitObject("tree", content)
        for _, oid, is_lfs, sha256, size_bytes in state.files:
            if self._is_new(oid):
                yield GitBlob(sha256, size_bytes, is_lfs)

    def _is_new(self, oid: str) -> bool:
        raw = bytes.fromhex(oid)
        if raw in self.oids:
            return False
        self.oids.add(raw)
        return True


def _nearest(commits: dict[int, Commit], send: Collection[int], have: Collection[int]) -> list[int]:
    """The newest commits of ``have`` that are parents of ``send``, and the newest of ``have``."""
    parents = {commits[key].parent for key in send} & set(have)
    near = {key for key in parents if key is not None} | ({max(have)} if have else set())
    return sorted(near)[-_MOST_COMMITS_READ:]


def _lines(commits: dict[int, Commit], send: Collection[int]) -> Iterator[list[int]]:
    """``send`` partitioned into chains in which each commit is the parent of the next."""
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


def _grow(tree: GitTree, revision: Revision) -> _State:
    """The state of ``revision``, derived from its parent's tree.

    The rows tell which files it added or changed (``changed_in``), but not which it deleted: if the
    tree id does not match, the whole revision is read.
    """
    files = list(_rows(revision.files.filter(changed_in=revision)))
    for path, oid, *_ in files:
        tree.put(path, oid)
    trees = list(tree.changed())
    return _State(tree, trees, files) if tree.oid == revision.tree_oid else _read(revision.pk)


def _read(key: int) -> _State:
    tree, files = GitTree(), list(_rows(File.objects.of([key])))
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
