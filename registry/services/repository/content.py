"""The bytes that a commit's operations put at paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hpcfair.formats import START_BYTES, TFLITE, has_network, mistake_in
from registry.errors import Invalid
from registry.selectors.access import Actor
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import files_get, revision_get
from registry.selectors.storage.blob import blob_open, blobs_usable
from registry.services.repository.operation import Add, Copy, Operation
from registry.storage.git import POINTER_BYTES, LfsPointer, pointer_of
from registry.tables import Blob, MLModel


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that a commit puts at a path.

    ``is_pointer`` tells that git stores a git-lfs pointer to them, whatever ``.gitattributes``
    says: they were committed as its text, announced as a large file, or copied from one. ``source``
    is another repository that they were copied from, and the commit id there.
    """

    blob: Blob
    is_pointer: bool = False
    source: tuple[MLModel, str] | None = None


def contents_of(
    actor: Actor, mlmodel: MLModel, operations: Sequence[Operation]
) -> dict[str, Content]:
    """Path to content for all that ``operations`` put.

    A file that is the text of a git-lfs pointer stands for the bytes it names, as it does in git.
    Raises ``Invalid`` ``blob_missing`` or ``size_mismatch``; ``Unauthenticated`` or ``Forbidden``
    ``access_gated`` for a copy; ``NotFound`` ``file_not_found`` or ``revision_not_found`` for a
    copy.
    """
    added = {one.path: one for one in operations if isinstance(one, Add)}
    contents = {
        path: Content(blob, is_pointer=added[path].is_lfs)
        for path, blob in _usable(actor, added).items()
    }
    contents |= _copied(actor, mlmodel, [one for one in operations if isinstance(one, Copy)])
    pointers: dict[str, LfsPointer] = {}
    for path, content in contents.items():
        # Few files have such a length, so few are opened.
        if content.blob.size_bytes in POINTER_BYTES and not content.is_pointer:
            with blob_open(content.blob) as stream:
                if (pointer := pointer_of(stream.read())) is not None:
                    pointers[path] = pointer
    for path, blob in _usable(actor, pointers).items():
        contents[path] = Content(blob, is_pointer=True, source=contents[path].source)
    return contents


def check_formats(contents: Mapping[str, Content]) -> None:
    """Refuse files that are named like a network and begin like something else, such as a pickle.

    Inspection reads whole files later, in a confined process; here nothing is parsed. Raises
    ``Invalid`` ``onnx_unreadable`` or ``tflite_invalid``, with the paths in its fields.
    """
    fields = {}
    for path, content in contents.items():
        if has_network([path]):
            with blob_open(content.blob) as stream:
                mistake = mistake_in(path, stream.read(START_BYTES))
            if mistake:
                fields[path] = f"is {mistake}"
    if fields:
        path, mistake = next(iter(fields.items()))
        raise Invalid(
            "tflite_invalid" if TFLITE.matches(path) else "onnx_unreadable",
            f"{path} {mistake}.",
            "Export the model to ONNX, and publish that file.",
            fields=fields,
        )


def _copied(actor: Actor, mlmodel: MLModel, copies: Sequence[Copy]) -> dict[str, Content]:
    """Path to content for all copies; the queries grow with the number of source revisions."""
    by_source: dict[tuple[int, str], list[Copy]] = {}
    for one in copies:
        source = one.source or mlmodel
        by_source.setdefault((source.pk, one.source_revision), []).append(one)
    contents: dict[str, Content] = {}
    for (key, name), some in by_source.items():
        source = some[0].source or mlmodel
        is_foreign = key != mlmodel.pk
        if is_foreign:
            require_fetch(actor, source)
        revision = revision_get(source, name)
        origin = (source, revision.oid) if is_foreign else None
        files = files_get(revision, [one.source_path for one in some])
        for one in some:
            file = files[one.source_path]
            contents[one.path] = Content(file.blob, is_pointer=file.is_lfs, source=origin)
    return contents


def _usable(actor: Actor, named: Mapping[str, Add | LfsPointer]) -> dict[str, Blob]:
    """Path to blob for the digests ``named``, if the actor may use all of them."""
    usable = blobs_usable(actor, {one.sha256 for one in named.values()})
    for path, one in named.items():
        blob = usable.get(one.sha256)
        if blob is None:
            raise Invalid(
                "blob_missing",
                f"The bytes of {path!r} ({one.sha256[:100]!r}) were not uploaded.",
                "Upload them first, then commit again.",
                fields={path: "bytes not uploaded"},
            )
        if one.size_bytes not in {None, blob.size_bytes}:
            raise Invalid(
                "size_mismatch",
                f"{path!r} was announced with {one.size_bytes} bytes, its content has "
                f"{blob.size_bytes}.",
                "Send the file again; it changed while it was sent.",
                fields={path: "another size"},
            )
    return {path: usable[one.sha256] for path, one in named.items()}
