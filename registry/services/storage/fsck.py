"""Integrity check of tables and stored bytes. Reads only; changes nothing.

Every row that names bytes is compared with the bytes, every id that can be recomputed is
recomputed. The check may run on a live hub: an apparent fault is checked again before it is
reported, so that a concurrent commit or garbage collection is no fault.

=================== ======================================================================
bytes_missing       the bytes of a blob are missing
bytes_damaged       the bytes of a blob do not match its digest
row_wrong           the row of a blob has another length or git id than its bytes
condemned_in_use    a condemned blob is referenced
file_wrong          the git id of a file is not that of its bytes, or of their pointer
file_lost           a file names a blob that does not exist, or no revision has it
file_twice          a revision has two files at one path
revision_wrong      the ids of a revision do not match its files or its commit
ref_lost            a branch or tag names no revision of its repository
branch_missing      a repository lacks its default branch
usage_wrong         the count of used bytes of a repository or namespace is wrong
------------------- ----------------------------------------------------------------------
stray               bytes without a row, such as a killed upload leaves
leftover            bytes of an upload that is in progress or was killed
=================== ======================================================================

The last two are *litter*: invisible to users, and deleted by garbage collection.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from django.db.models import Exists, OuterRef

from registry.errors import Invalid, NotFound
from registry.selectors.storage.blob import AT_ONCE, blobs_unreferenced
from registry.selectors.storage.integrity import (
    files_lost,
    files_misnamed,
    files_repeated,
    revision_mismatch,
)
from registry.selectors.storage.quota import bytes_in, bytes_of, usage
from registry.states import RefKind
from registry.storage import BlobStore, blob_store
from registry.storage.meter import ByteMeter
from registry.tables import Blob, File, MLModel, Namespace, Ref, Revision

LITTER = frozenset({"stray", "leftover"})

#: Called with the kind of object being checked, the number checked so far, and the total.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class IntegrityFault:
    """A fault of the stored data; ``kind`` is one of those listed above."""

    kind: str
    subject: str
    detail: str

    @property
    def is_litter(self) -> bool:
        """Whether it is invisible to users and deleted by garbage collection."""
        return self.kind in LITTER

    def as_dict(self) -> dict[str, str | bool]:
        """For JSON."""
        return asdict(self) | {"is_litter": self.is_litter}


def fsck(*, quick: bool = False, progress: Progress = lambda *_: None) -> Iterator[IntegrityFault]:
    """Check everything, and yield faults as they are detected.

    Args:
        quick: Compare only the length of stored bytes; read none of them.
        progress: Called regularly with the progress.

    Raises:
        Unavailable: ``storage_unavailable``.
    """
    yield from _Check(blob_store(), progress, quick=quick).run()


class _Check:
    """One run of the check. A fault is not reported again for objects that depend on it."""

    def __init__(self, store: BlobStore, progress: Progress, *, quick: bool) -> None:
        self._store, self._progress, self._quick = store, progress, quick
        self._wrong_rows, self._wrong_namespaces = set[str](), set[int]()
        self._wrong_revisions: set[int] = set()

    def run(self) -> Iterator[IntegrityFault]:
        yield from self._blobs()
        yield from self._litter()
        yield from self._files()
        yield from self._revisions()
        yield from self._repositories()
        yield from self._namespaces()

    def _blobs(self) -> Iterator[IntegrityFault]:
        total = Blob.objects.count()
        for done, blob in enumerate(Blob.objects.order_by("pk").iterator()):
            self._progress("blobs", done, total)
            fault = self._blob_fault(blob)
            # Again: a collection may have deleted it meanwhile, or an upload repaired it.
            now = Blob.objects.filter(pk=blob.pk).first() if fault else None
            if now and (fault := self._blob_fault(now)):
                yield fault
                if fault.kind == "row_wrong":
                    self._wrong_rows.add(blob.pk)

    def _blob_fault(self, blob: Blob) -> IntegrityFault | None:
        if blob.condemned_at is not None:
            if blobs_unreferenced().filter(pk=blob.pk).exists():
                return None
            return IntegrityFault("condemned_in_use", blob.pk, "condemned, yet referred to")
        length = self._store.size(blob.pk)
        if length is None:
            return IntegrityFault(
                "bytes_missing", blob.pk, f"{blob.size_bytes} bytes are not there"
            )
        if not self._quick:
            return _content_fault(self._store, blob, length)
        if length != blob.size_bytes:
            return IntegrityFault(
                "bytes_damaged", blob.pk, f"{length} bytes, not {blob.size_bytes}"
            )
        return None

    def _litter(self) -> Iterator[IntegrityFault]:
        entries, done = self._store.entries(), 0
        while some := list(islice(entries, AT_ONCE)):
            self._progress("stored bytes", done, 0)
            digests = [entry.sha256 for entry in some]
            rows = set(Blob.objects.filter(pk__in=digests).values_list("pk", flat=True))
            for entry in some:
                if entry.sha256 not in rows:
                    yield IntegrityFault(
                        "stray", entry.sha256, f"{entry.size_bytes} bytes without a row"
                    )
            done += len(some)
        for leftover in self._store.leftovers():
            when = f"{leftover.modified:%Y-%m-%d %H:%M}Z"
            detail = f"{leftover.size_bytes} bytes, last written {when}"
            yield IntegrityFault("leftover", leftover.name, detail)

    def _files(self) -> Iterator[IntegrityFault]:
        self._progress("files", 0, 0)
        for file in files_lost():
            detail = f"blob {file.blob_id} is not there, or no revision has the file"
            yield self._file_fault("file_lost", file, detail)
        for file in files_repeated():
            yield self._file_fault("file_twice", file, "its revision has another file at its path")
        for file in files_misnamed():
            detail = f"git id {file.oid} is not that of its bytes or their pointer"
            fault = self._file_fault("file_wrong", file, detail)
            if file.blob_id not in self._wrong_rows:
                yield fault

    def _file_fault(self, kind: str, file: File, detail: str) -> IntegrityFault:
        """The fault; the revisions that have the file are not judged by it once more."""
        self._wrong_revisions.update(file.revisions.values_list("pk", flat=True))
        return IntegrityFault(kind, f"file {file.pk} {file.path}", detail)

    def _revisions(self) -> Iterator[IntegrityFault]:
        total = Revision.objects.count()
        rows = Revision.objects.select_related("mlmodel__namespace", "series", "parent")
        for done, revision in enumerate(rows.order_by("pk").iterator(chunk_size=200)):
            self._progress("revisions", done, total)
            if revision.pk in self._wrong_revisions:
                continue
            mismatch = revision_mismatch(revision, self._wrong_rows)
            # Unless a collection deleted it, files first, during the check.
            if mismatch and Revision.objects.filter(pk=revision.pk).exists():
                name = f"{revision.mlmodel.full_name}@{revision.oid}"
                yield IntegrityFault("revision_wrong", name, mismatch)

    def _repositories(self) -> Iterator[IntegrityFault]:
        own = Revision.objects.filter(pk=OuterRef("revision_id"), mlmodel=OuterRef("mlmodel_id"))
        for ref in Ref.objects.filter(~Exists(own)).select_related("mlmodel__namespace"):
            detail = f"revision {ref.revision_id} is not there, or another repository's"
            yield IntegrityFault(
                "ref_lost", f"{ref.mlmodel.full_name}#{ref.kind}/{ref.name}", detail
            )
        total = MLModel.objects.count()
        rows = MLModel.objects.select_related("namespace").order_by("pk")
        for done, mlmodel in enumerate(rows.iterator()):
            self._progress("repositories", done, total)
            branch = mlmodel.refs.filter(kind=RefKind.BRANCH, name=mlmodel.default_branch)
            if not branch.exists() and MLModel.objects.filter(pk=mlmodel.pk).exists():
                detail = f"no branch {mlmodel.default_branch}"
                yield IntegrityFault("branch_missing", mlmodel.full_name, detail)
            yield from self._usage(mlmodel)

    def _usage(self, mlmodel: MLModel) -> Iterator[IntegrityFault]:
        affected = File.objects.filter(blob__in=self._wrong_rows, series__mlmodel=mlmodel)
        if self._wrong_rows and affected.exists():
            return
        fault = _usage_fault(mlmodel)
        # Again: a commit may have come between the two numbers.
        if fault and (fault := _usage_fault(mlmodel)):
            self._wrong_namespaces.add(mlmodel.namespace_id)
            yield fault

    def _namespaces(self) -> Iterator[IntegrityFault]:
        for one in Namespace.objects.exclude(pk__in=self._wrong_namespaces).order_by("pk"):
            if (actual := bytes_in(one)) != (row := usage(one).used_bytes):
                yield IntegrityFault("usage_wrong", one.name, f"uses {actual} bytes, not {row}")


def _content_fault(store: BlobStore, blob: Blob, length: int) -> IntegrityFault | None:
    try:
        with store.open(blob.pk) as stream:
            meter = ByteMeter(stream, size_bytes=length, limit_bytes=None)
            for _ in meter.pieces():
                pass
        actual = meter.arrived("", sha256=None, again=lambda: store.open(blob.pk))
    except (OSError, Invalid, NotFound) as error:
        return IntegrityFault("bytes_damaged", blob.pk, f"cannot be read: {error}")
    if actual.sha256 != blob.pk:
        return IntegrityFault(
            "bytes_damaged", blob.pk, f"{length} bytes with SHA-256 {actual.sha256}"
        )
    if (actual.size_bytes, actual.git_oid) != (blob.size_bytes, blob.git_oid):
        row = f"{blob.size_bytes} bytes of git id {blob.git_oid}"
        return IntegrityFault(
            "row_wrong", blob.pk, f"row: {row}; bytes: {length}, {actual.git_oid}"
        )
    return None


def _usage_fault(mlmodel: MLModel) -> IntegrityFault | None:
    actual = bytes_of(mlmodel)
    row = MLModel.objects.filter(pk=mlmodel.pk).values_list("used_bytes", flat=True).first()
    if row is None or row == actual:
        return None
    detail = f"uses {actual} bytes, its row says {row}"
    return IntegrityFault("usage_wrong", mlmodel.full_name, detail)
