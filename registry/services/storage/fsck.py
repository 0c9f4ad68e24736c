"""Checking that everything the tables promise is there and whole. Reads only; changes nothing.

Every table line that names bytes is held against the bytes, every id that can be recomputed is
recomputed. May run on a live hub: what looks wrong is looked at again before it is reported, so
that a commit or a collection going on is no fault.

=================== ======================================================================
bytes_missing       a blob has no bytes
bytes_damaged       its bytes are not the ones its digest names: cut, flipped, replaced
row_wrong           its row says another length or git id than its bytes have
condemned_in_use    it is condemned, and something refers to it
file_wrong          a file's git id is not that of its bytes, or of their pointer
file_lost           a file names a blob or a revision that is not there
revision_wrong      a revision's files or its commit do not come to its ids
ref_lost            a branch or tag names no revision of its repository
branch_missing      a repository has no default branch
usage_wrong         a repository's count of used bytes is not what it uses
------------------- ----------------------------------------------------------------------
stray               bytes have no row: what a killed upload left, or somebody put there
leftover            bytes on their way in: an upload going on, or one that was killed
=================== ======================================================================

The last two are *litter*: nobody can see them, and garbage collection takes them away.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from django.db.models import Exists, F, OuterRef

from registry.errors import Invalid, NotFound
from registry.selectors.storage.blob import AT_ONCE, blobs_unreferenced
from registry.selectors.storage.quota import bytes_of
from registry.states import RefKind
from registry.storage import BlobStore, blob_store
from registry.storage.git import blob_oid, commit_oid, lfs_pointer, tree_oid
from registry.storage.meter import Meter
from registry.tables import Blob, File, MLModel, Ref, Revision

LITTER = frozenset({"stray", "leftover"})

#: Told what is being looked at, how many were, and of how many.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something is not as it should be; ``kind`` is one of those listed above."""

    kind: str
    subject: str
    detail: str

    @property
    def is_litter(self) -> bool:
        """Whether garbage collection takes it away, and nobody can see it."""
        return self.kind in LITTER

    def as_dict(self) -> dict[str, str | bool]:
        """For JSON."""
        return asdict(self) | {"is_litter": self.is_litter}


def fsck(*, quick: bool = False, progress: Progress = lambda *_: None) -> Iterator[Fault]:
    """Look at everything, and give the faults as they are found.

    Args:
        quick: Trust bytes that are there at the right length; reads none.
        progress: Told now and then how far it got.

    Raises:
        Unavailable: ``storage_unavailable``.
    """
    yield from _Check(blob_store(), progress, quick=quick).run()


class _Check:
    """One run. What is known to be wrong already is not reported again for what depends on it."""

    def __init__(self, store: BlobStore, progress: Progress, *, quick: bool) -> None:
        self._store, self._progress, self._quick = store, progress, quick
        self._wrong_rows: set[str] = set()
        self._wrong_revisions: set[int] = set()

    def run(self) -> Iterator[Fault]:
        yield from self._blobs()
        yield from self._litter()
        yield from self._files()
        yield from self._revisions()
        yield from self._repositories()

    def _blobs(self) -> Iterator[Fault]:
        total = Blob.objects.count()
        for done, blob in enumerate(Blob.objects.order_by("pk").iterator()):
            self._progress("blobs", done, total)
            fault = self._blob_fault(blob)
            # A collection may have taken it meanwhile; an upload may have mended it.
            now = Blob.objects.filter(pk=blob.pk).first() if fault else None
            if now and (fault := self._blob_fault(now)):
                yield fault
                if fault.kind == "row_wrong":
                    self._wrong_rows.add(blob.pk)

    def _blob_fault(self, blob: Blob) -> Fault | None:
        if blob.condemned_at is not None:
            if blobs_unreferenced().filter(pk=blob.pk).exists():
                return None
            return Fault("condemned_in_use", blob.pk, "condemned, yet referred to")
        length = self._store.size(blob.pk)
        if length is None:
            return Fault("bytes_missing", blob.pk, f"{blob.size_bytes} bytes are not there")
        if not self._quick:
            return _content_fault(self._store, blob, length)
        if length != blob.size_bytes:
            return Fault("bytes_damaged", blob.pk, f"{length} bytes, not {blob.size_bytes}")
        return None

    def _litter(self) -> Iterator[Fault]:
        entries, done = self._store.entries(), 0
        while some := list(islice(entries, AT_ONCE)):
            self._progress("stored bytes", done, 0)
            digests = [entry.sha256 for entry in some]
            known = set(Blob.objects.filter(pk__in=digests).values_list("pk", flat=True))
            for entry in some:
                if entry.sha256 not in known:
                    yield Fault("stray", entry.sha256, f"{entry.size_bytes} bytes without a row")
            done += len(some)
        for leftover in self._store.leftovers():
            when = f"{leftover.modified:%Y-%m-%d %H:%M}Z"
            detail = f"{leftover.size_bytes} bytes, last written {when}"
            yield Fault("leftover", leftover.name, detail)

    def _files(self) -> Iterator[Fault]:
        self._progress("files", 0, 0)
        # Foreign keys forbid this; a database restored in part, or by hand, may still have it.
        blob = Blob.objects.filter(pk=OuterRef("blob_id"))
        revision = Revision.objects.filter(pk=OuterRef("revision_id"))
        for file in File.objects.filter(~Exists(blob) | ~Exists(revision)):
            detail = f"blob {file.blob_id} or revision {file.revision_id} is not there"
            yield Fault("file_lost", f"file {file.pk} {file.path}", detail)
            self._wrong_revisions.add(file.revision_id)
        for file in _misnamed_files():
            if file.blob_id not in self._wrong_rows:
                detail = f"git id {file.oid} is not that of its bytes or their pointer"
                yield Fault("file_wrong", f"file {file.pk} {file.path}", detail)
            self._wrong_revisions.add(file.revision_id)

    def _revisions(self) -> Iterator[Fault]:
        total = Revision.objects.count()
        rows = Revision.objects.select_related("mlmodel__namespace", "parent").order_by("pk")
        for done, revision in enumerate(rows.iterator(chunk_size=200)):
            self._progress("revisions", done, total)
            if revision.pk in self._wrong_revisions:
                continue
            wrong = _revision_wrong(revision)
            # Unless a collection took it, files first, while we looked.
            if wrong and Revision.objects.filter(pk=revision.pk).exists():
                name = f"{revision.mlmodel.full_name}@{revision.oid}"
                yield Fault("revision_wrong", name, wrong)

    def _repositories(self) -> Iterator[Fault]:
        own = Revision.objects.filter(pk=OuterRef("revision_id"), mlmodel=OuterRef("mlmodel_id"))
        for ref in Ref.objects.filter(~Exists(own)).select_related("mlmodel__namespace"):
            detail = f"revision {ref.revision_id} is not there, or another repository's"
            yield Fault("ref_lost", f"{ref.mlmodel.full_name}#{ref.kind}/{ref.name}", detail)
        total = MLModel.objects.count()
        rows = MLModel.objects.select_related("namespace").order_by("pk")
        for done, mlmodel in enumerate(rows.iterator()):
            self._progress("repositories", done, total)
            branch = mlmodel.refs.filter(kind=RefKind.BRANCH, name=mlmodel.default_branch)
            if not branch.exists() and MLModel.objects.filter(pk=mlmodel.pk).exists():
                detail = f"no branch {mlmodel.default_branch}"
                yield Fault("branch_missing", mlmodel.full_name, detail)
            yield from self._usage(mlmodel)

    def _usage(self, mlmodel: MLModel) -> Iterator[Fault]:
        doubted = File.objects.filter(blob__in=self._wrong_rows, revision__mlmodel=mlmodel)
        if self._wrong_rows and doubted.exists():
            return
        fault = _usage_fault(mlmodel)
        # Twice: a commit may have come between the two numbers.
        if fault and (fault := _usage_fault(mlmodel)):
            yield fault


def _content_fault(store: BlobStore, blob: Blob, length: int) -> Fault | None:
    try:
        with store.open(blob.pk) as stream:
            meter = Meter(stream, size_bytes=length, limit_bytes=None)
            for _ in meter.pieces():
                pass
        found = meter.arrived("", sha256=None, again=lambda: store.open(blob.pk))
    except (OSError, Invalid, NotFound) as error:
        return Fault("bytes_damaged", blob.pk, f"cannot be read: {error}")
    if found.sha256 != blob.pk:
        return Fault("bytes_damaged", blob.pk, f"{length} bytes with SHA-256 {found.sha256}")
    if (found.size_bytes, found.git_oid) != (blob.size_bytes, blob.git_oid):
        said = f"{blob.size_bytes} bytes of git id {blob.git_oid}"
        return Fault("row_wrong", blob.pk, f"row: {said}; bytes: {length}, {found.git_oid}")
    return None


def _misnamed_files() -> Iterator[File]:
    """Files whose git id is not that of their blob, or of its pointer where they are large."""
    yield from File.objects.filter(is_lfs=False).exclude(oid=F("blob__git_oid")).iterator()
    large = File.objects.filter(is_lfs=True).order_by("blob")
    for sha256, size_bytes, oid in large.values_list("blob", "blob__size_bytes", "oid").distinct():
        if blob_oid(lfs_pointer(sha256, size_bytes)) != oid:
            yield from large.filter(blob=sha256, oid=oid).iterator()


def _revision_wrong(revision: Revision) -> str:
    """What its files and its commit come to, where these are not its ids."""
    tree = tree_oid(dict(revision.files.values_list("path", "oid")))
    if tree != revision.tree_oid:
        return f"its files come to tree {tree}, not {revision.tree_oid}"
    oid = commit_oid(
        tree=tree,
        parent=revision.parent.oid if revision.parent else None,
        author_line=revision.author_line,
        message=revision.message,
    )
    return "" if oid == revision.oid else f"comes to commit {oid}"


def _usage_fault(mlmodel: MLModel) -> Fault | None:
    counted = bytes_of(mlmodel)
    said = MLModel.objects.filter(pk=mlmodel.pk).values_list("used_bytes", flat=True).first()
    if said is None or said == counted:
        return None
    return Fault("usage_wrong", mlmodel.full_name, f"uses {counted} bytes, its row says {said}")
