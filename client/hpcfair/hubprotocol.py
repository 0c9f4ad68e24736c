"""Reads models from servers of the Hugging Face Hub's protocol, verified and through the cache.

The server states a SHA-256 for each large file and git's object id for each other one. Both are
computed from the bytes that arrive, so that a wrong file is never kept. The answers that the cache
keeps hold no token and no address that contains one.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from hpcfair.body import blocks
from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.errors import Corrupt, Untrusted
from hpcfair.localfiles import local_files
from hpcfair.origin import ModelOrigin
from hpcfair.originerrors import refusals_at
from hpcfair.paths import checked_name, checked_sha256, is_commit, safe_join
from hpcfair.progress import Meter, transferring
from hpcfair.refusal import invalid_answer
from hpcfair.transfer import receive
from hpcfair.transport import Transport, quoted
from hpcfair.types import File

#: Names are checked against this folder before anything is written.
_NOWHERE = Path()
#: Pages of a list of files, each of up to 1000, before the server is taken for broken.
_MOST_PAGES = 1000


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at the origin; ``sha256`` is known of large files only, and ``oid`` is then git's id
    of its pointer."""

    path: str
    size_bytes: int
    oid: str
    sha256: str | None = None

    def is_same(self, file: File | None) -> bool:
        """Whether a file of a hub has the same bytes, as far as the digests tell."""
        if file is None:
            return False
        return file.sha256 == self.sha256 if self.sha256 else file.oid == self.oid


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """A version of a model at its origin, whose revision is a commit id.

    Attributes:
        license: As the card states it; empty without one.
        is_open: Whether everybody may fetch it there: neither private nor gated.
    """

    origin: ModelOrigin
    files: tuple[RemoteFile, ...]
    license: str
    is_open: bool

    @property
    def commit(self) -> str:
        return str(self.origin.revision)


def read_version(http: Transport, origin: ModelOrigin) -> RemoteVersion:
    """The files and facts of a version, without bytes.

    Args:
        http: Connections to the server of ``origin``.

    Raises:
        ModelNotFound, RevisionNotFound, Forbidden: the last one for a gated model.
        HubUnreachable: the server does not answer, or not as the protocol has it.
        UnsafePath: a file has a name that no file may have here.
    """
    with refusals_at(origin, http):
        info = http.get(_address(origin))
        pinned = _pinned(origin, info)
        files = tuple(_files(http, pinned))
    is_open = not (info.get("private") or info.get("gated"))
    return RemoteVersion(pinned, files, _license(info.get("cardData")), is_open)


def pin(http: Transport, origin: ModelOrigin) -> ModelOrigin:
    """``origin`` with the commit id of its revision; raises as :func:`read_version`."""
    with refusals_at(origin, http):
        return _pinned(origin, http.get(_address(origin)))


def fetch_files(
    http: Transport,
    cache: Cache,
    origin: ModelOrigin,
    files: Iterable[RemoteFile],
    show: Callable[[str, int], AbstractContextManager[Meter]] = transferring,
) -> dict[str, File]:
    """Path to each of ``files``, whose verified bytes are then in the cache. A large file resumes
    where an earlier call was interrupted.

    Args:
        show: Shows the progress, by a title and a number of bytes.

    Raises:
        Corrupt: the server sent other bytes than it states.
        HubUnreachable, StorageFailed: bytes are missing; the next call resumes.
    """
    local = {file: _cached(cache, origin, file) for file in files}
    missing = [file for file, have in local.items() if have is None]
    done, total = 0, sum(file.size_bytes for file in missing)
    with (
        local_files(cache.root, "HPCFAIR_CACHE"),
        refusals_at(origin, http),
        show(origin.name, total) as meter,
    ):
        for number, file in enumerate(missing, 1):
            meter.show(done, total, f"file {number} of {len(missing)}, {file.path}")
            local[file] = _fetch(http, cache, origin, file, meter)
            done += file.size_bytes
    return {file.path: have for file, have in local.items() if have is not None}


def _pinned(origin: ModelOrigin, info: Mapping[str, Any]) -> ModelOrigin:
    commit = str(info["sha"])
    if not is_commit(commit):
        raise invalid_answer(f"{commit[:50]!r} is no commit id")
    if is_commit(origin.revision) and commit != origin.revision:
        raise Untrusted(
            f"{origin.server} offers commit {commit[:12]} for {origin}.",
            "Report this to its operators.",
            code="revision_differs",
        )
    # A server may call it by another name than the one that led there.
    return ModelOrigin(origin.server, checked_name(str(info["id"])), commit)


def _address(origin: ModelOrigin) -> str:
    address = f"/api/models/{origin.name}"
    return f"{address}/revision/{quote(origin.revision, safe='')}" if origin.revision else address


def _files(http: Transport, origin: ModelOrigin) -> Iterator[RemoteFile]:
    url: str | None = f"/api/models/{origin.name}/tree/{origin.revision}?recursive=true"
    for _ in range(_MOST_PAGES):
        with http.open("GET", str(url)) as response:
            items = _list_of(response)
            url = response.links.get("next", {}).get("url")
        yield from (_file(item) for item in items if item.get("type") == "file")
        if url is None:
            return
    raise invalid_answer("its list of files does not end")


def _list_of(response: httpx.Response) -> list[Mapping[str, Any]]:
    response.read()
    try:
        items = response.json()
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise invalid_answer("it is no list of files")
    return items


def _file(item: Mapping[str, Any]) -> RemoteFile:
    try:
        path, size_bytes, oid = str(item["path"]), int(item["size"]), str(item["oid"])
        lfs = item.get("lfs")
        sha256 = checked_sha256(str(lfs["oid"])) if lfs else None
    except (KeyError, TypeError, ValueError) as error:
        raise invalid_answer(f"a file lacks {error}") from error
    if size_bytes < 0 or not is_commit(oid):
        raise invalid_answer(f"{path[:50]!r} has no size or no id")
    return RemoteFile(_safe(path), size_bytes, oid, sha256)


def _safe(path: str) -> str:
    safe_join(_NOWHERE, path)
    return path


def _license(card: Any) -> str:
    """The license in a card; empty if it names none, as ``unknown`` and a bare ``other`` do."""
    if not isinstance(card, dict):
        return ""
    value = card.get("license")
    text = " AND ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    is_named = text.lower() != "unknown" and (text.lower() != "other" or card.get("license_name"))
    return text if is_named else ""


def _cached(cache: Cache, origin: ModelOrigin, file: RemoteFile) -> File | None:
    sha256 = file.sha256 or cache.answer(_blob_key(origin, file))
    if not isinstance(sha256, str):
        return None
    have = File(file.path, checked_sha256(sha256), file.size_bytes, _url(origin, file))
    return have if cache.has(have) else None


def _fetch(
    http: Transport, cache: Cache, origin: ModelOrigin, file: RemoteFile, meter: Meter
) -> File:
    url = _url(origin, file)
    if file.sha256:
        large = File(file.path, file.sha256, file.size_bytes, url)
        part = receive(http, cache.partials, large, meter)
        cache.keep_blob(part, file.sha256)
        return large
    sha256 = _fetch_small(http, cache, file, url, meter)
    cache.keep_answer(_blob_key(origin, file), sha256)
    return File(file.path, sha256, file.size_bytes, url)


def _url(origin: ModelOrigin, file: RemoteFile) -> str:
    return f"/{origin.name}/resolve/{origin.revision}/{quoted(file.path)}"


def _fetch_small(http: Transport, cache: Cache, file: RemoteFile, url: str, meter: Meter) -> str:
    """Download a file that only git's id is known of, into the cache. Returns its SHA-256."""
    git, digest = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    git.update(f"blob {file.size_bytes}\0".encode())
    folder = cache.temporary_folder()
    part, size_bytes = folder / "file", 0
    try:
        with (
            http.open("GET", url, headers={"Accept-Encoding": "identity"}) as response,
            part.open("wb") as place,
        ):
            for block in blocks(response):
                size_bytes += len(block)
                if size_bytes > file.size_bytes:
                    break
                place.write(block)
                git.update(block)
                digest.update(block)
                meter.advance(len(block))
        if size_bytes != file.size_bytes or git.hexdigest() != file.oid:
            raise Corrupt(
                f"The bytes received for {file.path} are not those that the server states.",
                "Try again; if it stays, the server's copy is damaged.",
            )
        cache.keep_blob(part, digest.hexdigest())
    finally:
        part.unlink(missing_ok=True)
        folder.rmdir()
    return digest.hexdigest()


def _blob_key(origin: ModelOrigin, file: RemoteFile) -> str:
    # Per server: two contents with one SHA-1 can be made, and must not cross servers.
    return sha256_of_json({"server": origin.server, "blob": file.oid})
