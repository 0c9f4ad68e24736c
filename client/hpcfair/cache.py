"""Files and answers kept on this machine.

::

    <cache>/
      CACHEDIR.TAG                       tells backup programs to leave this folder out
      blobs/ab/abcd...                   bytes, named by their SHA-256; read-only
      partial/<sha256>.<unique>.part     a download under way; renamed .rest when given up
      trees/<id>/files/<path>            real files of one build or revision, under their names
      trees/<id>/verified.json           whose they are, and what each was when verified
      answers/<id>.json                  the hub's last answer to one question
      documents/<sha256>.json            records, named by their SHA-256

No locks: everything is written under a unique name and renamed into place, so that any number of
processes, also on other nodes of a shared file system, may use one cache. Whoever comes second
finds the same bytes. Deleting the folder at any time costs only downloads.
"""

import contextlib
import json
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcfair.digest import sha256_of_file
from hpcfair.errors import Corrupt
from hpcfair.paths import checked_sha256
from hpcfair.types import File

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of hpcfair: safe to delete.\n"
#: A .part file untouched for this long has lost its writer.
_ABANDONED_S = 120.0


class Cache:
    """The cache in a folder, which need not exist yet."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def blob(self, sha256: str) -> Path:
        """Where the bytes of that digest are, or would be."""
        digest = checked_sha256(sha256)
        return self.root / "blobs" / digest[:2] / digest

    def has(self, file: File) -> bool:
        """Whether the blob is here in full size. Its digest is checked where it is used."""
        try:
            return self.blob(file.sha256).stat().st_size == file.size_bytes
        except OSError:
            return False

    def keep_blob(self, temporary: Path, sha256: str) -> Path:
        """Move a finished download into place; verifies it first.

        Raises:
            Corrupt: its bytes have another digest; the file is gone then.
        """
        place = self.blob(sha256)
        if sha256_of_file(temporary) != sha256:
            temporary.unlink()
            raise Corrupt(
                f"The bytes received for {sha256} have another digest.",
                "Try again; if it stays, the hub's copy is damaged.",
            )
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.chmod(0o444)
        temporary.replace(place)
        return place

    def drop_blob(self, sha256: str) -> None:
        self.blob(sha256).unlink(missing_ok=True)

    def start_partial(self, sha256: str) -> Path:
        """A file to download into, which nobody else writes: what somebody left, or a new one."""
        folder = self._folder("partial")
        mine = folder / f"{checked_sha256(sha256)}.{uuid.uuid4().hex}.part"
        for left in folder.glob(f"{sha256}.*"):
            # The rename decides between two who find the same rest.
            with contextlib.suppress(OSError):
                if left.suffix == ".rest" or _age_s(left) > _ABANDONED_S:
                    left.rename(mine)
                    mine.touch()
                    return mine
        mine.touch()
        return mine

    def leave_partial(self, part: Path) -> None:
        """Give up a download so that the next one may go on with it."""
        with contextlib.suppress(OSError):
            part.rename(part.with_suffix(".rest"))

    def answer(self, key: str) -> Any:
        """The answer kept for a question, or ``None``."""
        return _read_json(self.root / "answers" / f"{checked_sha256(key)}.json")

    def keep_answer(self, key: str, answer: Any) -> None:
        self._write_json(self._folder("answers") / f"{checked_sha256(key)}.json", answer)

    def document(self, sha256: str) -> Any:
        """The document of that digest, or ``None``; the reader checks it."""
        return _read_json(self.root / "documents" / f"{checked_sha256(sha256)}.json")

    def keep_document(self, sha256: str, document: Mapping[str, Any]) -> None:
        self._write_json(self._folder("documents") / f"{checked_sha256(sha256)}.json", document)

    def temporary_folder(self) -> Path:
        """A new folder on the cache's file system, to be renamed into place or removed."""
        folder = self._folder("partial") / f"{uuid.uuid4().hex}.tmp"
        folder.mkdir()
        return folder

    def tree(self, tree_id: str) -> Path:
        """Where the tree of that id is, or would be."""
        return self.root / "trees" / checked_sha256(tree_id)

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG, "utf-8")
        return folder

    def _write_json(self, path: Path, value: Any) -> None:
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        temporary.write_text(json.dumps(value), "utf-8")
        temporary.replace(path)


def _read_json(path: Path) -> Any:
    """The JSON of a file; a missing or damaged one is no answer."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _age_s(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def link_or_copy(source: Path, place: Path, *, link: bool) -> None:
    """Make ``place`` hold the bytes of ``source``: a hard link if wished and possible, else a copy.

    Copies share their blocks where the file system can (Btrfs, XFS).
    """
    if link:
        with contextlib.suppress(OSError):
            os.link(source, place)
            return
    with source.open("rb") as reading, place.open("wb") as writing:
        left = os.fstat(reading.fileno()).st_size
        while left > 0 and (copied := _copy_range(reading.fileno(), writing.fileno(), left)):
            left -= copied
        # Where the kernel cannot, both descriptors still stand where it stopped.
        while chunk := reading.read(2**20):
            writing.write(chunk)


def _copy_range(source: int, target: int, count: int) -> int:
    if not hasattr(os, "copy_file_range"):
        return 0
    try:
        return os.copy_file_range(source, target, min(count, 2**30))
    except OSError:
        return 0
