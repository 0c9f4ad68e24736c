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
from hpcfair.modelbundle import oci
from hpcfair.modelbundle.manifest import manifest_in, titles_of

_PIECE_BYTES = 2**20


class ModelBundle:
    """A model bundle, whose bytes were verified. No file stays open.

    Attributes:
        path: Its file, or its folder in the OCI image layout.
        manifest: See :mod:`hpcfair.modelbundle.manifest`.
        blobs: Sizes in bytes by SHA-256.
    """

    def __init__(self, path: Path) -> None:
        """Verify all bytes.

        Raises:
            Corrupt: it is no model bundle, or differs from the one that was written; the message
                says in what.
            NoModelFile, StorageFailed: it does not exist, or cannot be read.
        """
        if not path.exists():
            raise NoModelFile(f"There is no file {path}.", "A model is named namespace/name.")
        self.path = path
        self.manifest: dict[str, Any] = {}
        self.blobs: dict[str, int] = {}
        # File and offset of each blob.
        self._places: dict[str, tuple[Path, int]] = {}
        try:
            with local_files(path.parent):
                if path.is_dir():
                    self._open_folder()
                else:
                    self._open_file()
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
        path, offset = self._places[sha256]
        with path.open("rb") as file:
            file.seek(offset + start)
            while left > 0 and (piece := file.read(min(left, _PIECE_BYTES))):
                left -= len(piece)
                yield piece

    def content_of(self, sha256: str) -> bytes:
        """All bytes of a blob. Raises Corrupt if they have changed since the bundle was opened."""
        content = b"".join(self.pieces_of(sha256))
        if hashlib.sha256(content).hexdigest() != sha256:
            raise _refusal(self.path, f"{self._title(sha256)} has changed")
        return content

    def json_of(self, sha256: str) -> Any:
        """The JSON in a blob; raises as :meth:`content_of`, also if it is not JSON."""
        try:
            return json.loads(self.content_of(sha256))
        except (ValueError, RecursionError) as error:
            raise _refusal(self.path, f"{self._title(sha256)} is not JSON") from error

    def _open_file(self) -> None:
        with BundleFile(self.path, self._verify) as file:
            self.blobs = dict(file.blobs)
            self._places = {each: (self.path, file.offset_of(each)) for each in file.blobs}

    def _open_folder(self) -> None:
        self.manifest = oci.manifest_in(self.path)
        self.blobs = oci.verified_blobs(self.path, self.manifest)
        self._places = {each: (oci.blob_path(self.path, each), 0) for each in self.blobs}

    def _verify(self, envelope: Any) -> dict[str, Any]:
        self.manifest = manifest_in(envelope)
        return self.manifest

    def _reason(self, error: BundleInvalid) -> str:
        if not error.sha256:
            return str(error)
        return f"{self._title(error.sha256)} differs from what was written"

    def _title(self, sha256: str) -> str:
        try:
            titles = {digest: title for title, digest in titles_of(self.manifest)}
            return titles[sha256]
        except (KeyError, TypeError, AttributeError):
            return f"the file {sha256}"


def _refusal(path: Path, reason: str) -> Corrupt:
    return Corrupt(
        f"{path} is refused: {reason}.",
        "Nothing was loaded. Copy it again, or make it again with `hpcfair bundle`.",
        code="bundle_invalid",
    )
