"""JSON shapes of the protocol."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from registry.selectors.repository.tree import TreeEntry
from registry.states import Gate
from registry.storage.git import lfs_pointer
from registry.tables import File, MLModel, Revision

#: Clients pass a card's values as keyword arguments, besides these of their own.
_NOT_FOR_CARDS = {"self", "ignore_metadata_errors"}


def moment(at: datetime) -> str:
    """A time in UTC that ends in "Z": clients parse no other format."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


def gated_of(mlmodel: MLModel) -> str | bool:
    """``auto``, ``manual``, or ``False``."""
    return False if mlmodel.gate == Gate.OPEN else str(mlmodel.gate)


def card_data(values: Mapping[str, Any]) -> dict[str, Any]:
    """A card's values, without those that clients fail on."""
    card = {key: value for key, value in values.items() if key not in _NOT_FOR_CARDS}
    if isinstance(card.get("tags"), str):
        card["tags"] = [card["tags"]]
    if "model-index" in card and not _is_readable_index(card["model-index"]):
        del card["model-index"]
    return card


def sibling(file: File) -> dict[str, Any]:
    """A file with size and ids, in the information about a repository."""
    shape: dict[str, Any] = {
        "rfilename": file.path,
        "blobId": file.oid,
        "size": file.blob.size_bytes,
    }
    if file.is_lfs:
        shape["lfs"] = {"sha256": file.blob_id, **_lfs_sizes(file)}
    return shape


def tree_entry(entry: TreeEntry, xet_hashes: Mapping[str, str]) -> dict[str, Any]:
    """A file or folder, in a listing; ``xet_hashes`` maps SHA-256 to the Xet hash."""
    file = entry.file
    if file is None:
        return {"type": "directory", "oid": entry.oid, "size": 0, "path": entry.path}
    shape: dict[str, Any] = {
        "type": "file",
        "oid": entry.oid,
        "size": file.blob.size_bytes,
        "path": entry.path,
    }
    if file.is_lfs:
        shape["lfs"] = {"oid": file.blob_id, **_lfs_sizes(file)}
        if file.blob_id in xet_hashes:
            shape["xetHash"] = xet_hashes[file.blob_id]
    return shape


def last_commit(revision: Revision) -> dict[str, Any]:
    """The last change of a file or folder."""
    return {
        "id": revision.oid,
        "title": revision.message.partition("\n")[0],
        "date": moment(revision.created_at),
    }


def commit(revision: Revision) -> dict[str, Any]:
    """A commit in a history."""
    title, _, message = revision.message.partition("\n")
    # The hub itself and deleted accounts have no row.
    author = revision.author.username if revision.author else "system"
    return {
        "id": revision.oid,
        "title": title,
        "message": message.strip("\n"),
        "authors": [{"user": author}],
        "date": moment(revision.created_at),
    }


def _lfs_sizes(file: File) -> dict[str, int]:
    size = file.blob.size_bytes
    return {"size": size, "pointerSize": len(lfs_pointer(file.blob_id, size))}


def _is_readable_index(index: Any) -> bool:
    """Whether clients can read all ``source`` members of results; they tolerate other faults."""
    models = index if isinstance(index, list) else []
    listed = [model.get("results") for model in models if isinstance(model, dict)]
    results = [result for some in listed if isinstance(some, list) for result in some]
    sources = [result.get("source") for result in results if isinstance(result, dict)]
    return all(
        not source or (isinstance(source, dict) and bool(source.get("url"))) for source in sources
    )
