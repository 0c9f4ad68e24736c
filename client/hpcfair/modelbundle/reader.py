"""Opens a model bundle: verifies all its bytes, then reads blobs from it on demand."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hpcfair.bundle import BundleInvalid
from hpcfair.bundlefile import BundleFile
from hpcfair.errors import Corrupt, NoModelFile
from hpcfair.localfiles import local_files
from hpcfair.modelbundle.manifest import contents_of, manifest_of

_PIECE_BYTES = 2**20


class ModelBundle:
    """A model bundle, whose bytes were verified. No file stays open.

    Attributes:
        path: Its file.
        manifest: See :mod:`hpcfair.modelbundle.manifest`.
        blobs: Sizes in bytes by SHA-256.
    """

    def __init__(self, path: Path) -> None:
        """Verify the file.

        Raises:
            Corrupt: it is no model bundle, or differs from the one that was written; the message
                says in what.
            NoModelFile, StorageFailed: it does not exist, or cannot be read.
        """
        if not path.exists():
            raise NoModelFile(f"There is no file {path}.", "A model is named namespace/name.")
        self.path = path
        self.manifest: dict[str, Any] = {}
        try:
            with local_files(path.parent), BundleFile(path, self._verify) as file:
                self.blobs = dict(file.blobs)
                self._offsets = {sha256: file.offset_of(sha256) for sha256 in file.blobs}
        except BundleInvalid as error:
            raise _refusal(path, self._reason(error)) from error

    @property
    def name(self) -> str:
        """Name of the model at its hub."""
        return str(self.manifest["name"])

    @property
    def revision(self) -> str:
        """Commit id of the revision."""
        return str(self.manifest["revision"])

    @property
    def hub(self) -> str:
        """Address of the hub that the bundle was made from."""
        return str(self.manifest["hub"])

    def pieces_of(self, sha256: str, start: int = 0) -> Iterator[bytes]:
        """The bytes of a blob from position ``start`` on; they are not verified again."""
        left = self.blobs[sha256] - start
        with self.path.open("rb") as file:
            file.seek(self._offsets[sha256] + start)
            while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece

    def content_of(self, sha256: str) -> bytes:
        """All bytes of a blob. Raises Corrupt if the file has changed since it was opened."""
        content = b"".join(self.pieces_of(sha256))
        if hashlib.sha256(content).hexdigest() != sha256:
            raise _refusal(self.path, f"{self._called(sha256)} has changed")
        return content

    def json_of(self, sha256: str) -> Any:
        """The JSON in a blob; raises as :meth:`content_of`, also if it is not JSON."""
        try:
            return json.loads(self.content_of(sha256))
        except (ValueError, RecursionError) as error:
            raise _refusal(self.path, f"{self._called(sha256)} is not JSON") from error

    def _verify(self, envelope: Any) -> dict[str, Any]:
        self.manifest = manifest_of(envelope)
        return self.manifest

    def _reason(self, error: BundleInvalid) -> str:
        if not error.sha256:
            return str(error)
        return f"{self._called(error.sha256)} differs from what was written"

    def _called(self, sha256: str) -> str:
        try:
            return contents_of(self.manifest)[sha256]
        except (KeyError, TypeError, AttributeError):
            return f"the file {sha256}"


def _refusal(path: Path, reason: str) -> Corrupt:
    return Corrupt(
        f"{path} is refused: {reason}.",
        "Nothing was loaded. Copy it again, or make it again with `hpcfair bundle`.",
        code="bundle_invalid",
    )
