"""The cache of files and answers of the hub.

::

    <cache>/
      CACHEDIR.TAG                       excludes the folder from backups
      blobs/ab/abcd...                   files named by their SHA-256; read-only
      partial/                           downloads in progress; see partial.py
      trees/<id>/files/<path>            files of one build or revision, under their names
      trees/<id>/verified.json           owner, and state of each file when verified
      answers/<id>.json                  the hub's last answer to one request
      documents/<sha256>.json            records, named by their SHA-256

There are no locks: every file is written under a unique name, flushed to the disk and renamed into
place, so any number of processes may share one cache, also on several nodes of a shared file
system. Permissions follow the umask of the process. The folder may be deleted at any time; that
costs only downloads.

Below the user's cache may lie others that a site has filled, its layers. They are read and never
written.
"""

import contextlib
import json
import logging
import os
import stat
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hpcfair.partial import Partials
from hpcfair.paths import checked_sha256
from hpcfair.types import File

_log = logging.getLogger("hpcfair")
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of hpcfair: safe to delete.\n"


class Cache:
    """The cache in a folder, which is created on first use.

    Attributes:
        layers: Caches below this one, which are searched in this order after it.
        budget_bytes: Size above which downloads remove what was used least recently; ``None``
            without a limit.
    """

    def __init__(
        self, root: Path, layers: Sequence[Path] = (), *, budget_bytes: int | None = None
    ) -> None:
        self.root = root
        self.budget_bytes = budget_bytes
        self.layers = tuple(Cache(folder) for folder in layers)

    def blob(self, sha256: str) -> Path:
        """Path of the blob with that digest, whether or not it exists."""
        digest = checked_sha256(sha256)
        return self.root / "blobs" / digest[:2] / digest

    def has(self, file: File) -> bool:
        """Whether the blob exists with its full size. Its digest is verified on use."""
        try:
            return self.blob(file.sha256).stat().st_size == file.size_bytes
        except OSError:
            return False

    def keep_blob(self, verified: Path, sha256: str) -> Path:
        """Move a finished and verified download into place."""
        place = self.blob(sha256)
        place.parent.mkdir(parents=True, exist_ok=True)
        make_final(verified)
        verified.replace(place)
        return place

    def drop_blob(self, sha256: str) -> None:
        self.blob(sha256).unlink(missing_ok=True)

    @property
    def partials(self) -> Partials:
        """Downloads in progress."""
        return Partials(self._folder("partial"))

    def answer(self, key: str) -> Any:
        """The cached answer to a request, or ``None``."""
        return self._read_json("answers", key)

    def answers(self) -> Iterator[dict[str, Any]]:
        """All cached answers, those of layers included."""
        for layer in (self, *self.layers):
            with contextlib.suppress(OSError):
                for path in sorted((layer.root / "answers").glob("*.json")):
                    answer = _read_json(path)
                    if isinstance(answer, dict):
                        yield answer

    def keep_answer(self, key: str, answer: Any) -> None:
        """Keep the answer to a request for use without the hub, if the cache can be written."""
        self._write_json("answers", key, answer)

    def document(self, sha256: str) -> Any:
        """The document of that digest, or ``None``; the caller verifies it."""
        return self._read_json("documents", sha256)

    def keep_document(self, sha256: str, document: Mapping[str, Any]) -> None:
        """Keep the document of that digest, if the cache can be written."""
        self._write_json("documents", sha256, document)

    def temporary_folder(self) -> Path:
        """A new folder on the cache's file system, to be renamed or removed by the caller."""
        folder = self._folder("partial") / f"{uuid.uuid4().hex}.tmp"
        folder.mkdir()
        return folder

    def tree(self, tree_id: str) -> Path:
        """Path of the tree with that id, whether or not it exists."""
        return self.root / "trees" / checked_sha256(tree_id)

    def _folder(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(parents=True, exist_ok=True)
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG, "utf-8")
        return folder

    def _read_json(self, folder: str, key: str) -> Any:
        name = f"{checked_sha256(key)}.json"
        values = (_read_json(layer.root / folder / name) for layer in (self, *self.layers))
        return next((value for value in values if value is not None), None)

    def _write_json(self, folder: str, key: str, value: Any) -> None:
        """Write a file that saves a request. Without it, nothing fails but work without the hub, so
        that a full disk or a read-only cache does not keep a cached model from being loaded."""
        name = f"{checked_sha256(key)}.json"
        try:
            path = self._folder(folder) / name
            temporary = path.with_name(f"{name}.{uuid.uuid4().hex}.tmp")
            try:
                temporary.write_text(json.dumps(value), "utf-8")
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            _log.info("An answer of the hub is not kept in %s: %s", self.root, error)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def make_final(file: Path) -> None:
    """Flush a file to the disk and make it read-only. After a crash, a renamed file could otherwise
    have its name and size but not its bytes."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        # Another user's, who shares the cache, cannot be changed.
        with contextlib.suppress(PermissionError):
            file.chmod(stat.S_IMODE(os.fstat(opened.fileno()).st_mode) & ~0o222)


def link_or_copy(source: Path, place: Path, *, link: bool) -> None:
    """Create ``place`` as a hard link to ``source`` if requested and possible, else as a copy.
    Copies share their blocks if the file system supports it (Btrfs, XFS)."""
    if link:
        with contextlib.suppress(OSError):
            os.link(source, place)
            return
    with source.open("rb") as reading, place.open("wb") as writing:
        left = os.fstat(reading.fileno()).st_size
        while left > 0 and (copied := _copy_range(reading.fileno(), writing.fileno(), left)):
            left -= copied
        # If the kernel does not support it, both descriptors are at the position where it stopped.
        while chunk := reading.read(2**20):
            writing.write(chunk)


def _copy_range(source: int, target: int, count: int) -> int:
    if not hasattr(os, "copy_file_range"):
        return 0
    try:
        return os.copy_file_range(source, target, min(count, 2**30))
    except OSError:
        return 0
