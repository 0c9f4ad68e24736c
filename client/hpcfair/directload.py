"""Loads a model straight from a server of the Hugging Face Hub's protocol.

Such a server has no builds and no signatures: the published network is opened with the defaults of
its runtime. Of the repository, only the network and its external data are downloaded.
"""

import mmap
import sys
from collections.abc import Collection
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

from hpcfair.acceptance import EXACT
from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.download import fetch_tree
from hpcfair.errors import BadInput, NoModelFile, Untrusted
from hpcfair.fetchedmodel import FetchedModel, Guard
from hpcfair.formats import has_network, opener_of
from hpcfair.host import require_runtime
from hpcfair.hubprotocol import fetch_files, pin, read_version
from hpcfair.loading import open_as
from hpcfair.loadoptions import LoadForm, LoadOptions
from hpcfair.localfiles import local_files
from hpcfair.origin import ModelOrigin
from hpcfair.originerrors import refusals_at
from hpcfair.paths import is_commit, safe_join
from hpcfair.precheck import network_of
from hpcfair.resolution import Resolution, renewed_answer
from hpcfair.runtimes import registry
from hpcfair.signature import Signature
from hpcfair.transport import Transport
from hpcfair.types import File

#: Files beside a network that are never its external data.
_TEXTS = (".md", ".json", ".txt", ".py", ".gitattributes")
Plan = dict[str, Any]


def load_direct(
    hub: Transport, cache: Cache, origin: ModelOrigin, form: LoadForm, options: LoadOptions
) -> Any:
    """Load the network of ``origin`` in one of its forms; see :meth:`hpcfair.Client.load`.

    A commit id that was loaded before needs no request. If the server does not answer, the commit
    that a branch or tag had last is loaded with a :class:`StaleAnswerWarning`.

    Args:
        hub: For the settings; no request is sent to it.

    Raises:
        NoModelFile: there is no network that this client can run; the hint says what to do.
        Untrusted: a signature is required, which such a server never has.
    """
    if form in ("model", "session"):
        require_runtime()
    if options.get("comm") is not None:
        raise BadInput(
            f"{origin} is on another server, which has no collective loading.",
            "Import it into a hub: hpcfair import.",
        )
    guard = Guard(options.get("verify", False), options.get("signed"))
    if guard.requires_signature(hub):
        raise Untrusted(
            f"{origin.url} is not signed: only hubs sign models.",
            f"Import it into a hub: hpcfair import {origin}",
            code="signature_missing",
        )
    model = _fetch(hub, cache, origin, is_verified=guard.verify)
    return open_as(hub, cache, model, form, options)


def _fetch(hub: Transport, cache: Cache, origin: ModelOrigin, *, is_verified: bool) -> FetchedModel:
    with Transport(hub.config.for_server(origin.server)) as http:
        pinned, since = _pinned(http, cache, origin)
        key = sha256_of_json({"load": str(pinned)})
        plan: Plan = cache.answer(key) or _plan(http, cache, pinned)
        files = [File.from_json(item) for item in plan["files"]]
        with refusals_at(pinned, http):
            folder = fetch_tree(http, cache, files, what=origin.url, verify=is_verified)
    path = safe_join(folder, plan["entry_point"])
    if "signature" not in plan:
        plan["signature"] = _signature(path)
        cache.keep_answer(key, plan)
    resolution = Resolution(
        name=origin.url,
        revision=str(pinned.revision),
        build=None,
        reason=f"It comes straight from {origin.server}, where nothing is tuned; "
        f"`hpcfair import {origin}` lets a hub tune it.",
        files=tuple(files),
        entry_point=plan["entry_point"],
        signature=Signature.from_json(plan["signature"]),
        target=None,
        acceptance=EXACT,
        stale_since=since,
    )
    return FetchedModel(resolution, path, None)


def _pinned(http: Transport, cache: Cache, origin: ModelOrigin) -> tuple[ModelOrigin, str | None]:
    """``origin`` at a commit id, and the time of the answer if it comes from the cache."""
    if is_commit(origin.revision):
        return origin, None
    answer, since = renewed_answer(
        cache,
        {"origin": str(origin)},
        lambda: _name_and_commit(pin(http, origin)),
        stacklevel=4,
    )
    return replace(origin, name=answer["name"], revision=answer["commit"]), since


def _name_and_commit(pinned: ModelOrigin) -> dict[str, Any]:
    return {"name": pinned.name, "commit": pinned.revision}


def _plan(http: Transport, cache: Cache, origin: ModelOrigin) -> Plan:
    """Download the network; returns its files and which of them is opened."""
    version = read_version(http, origin)
    files = {file.path: file for file in version.files}
    network = network_of(files)
    if network is None:
        several = "several networks" if has_network(files) else "no network that a runtime opens"
        raise NoModelFile(
            f"{origin} holds {several}.",
            f"Import it into a hub, which shows what its files are: hpcfair import {origin}",
        )
    fetched = fetch_files(http, cache, version.origin, [files[network]])
    with local_files(cache.root, "HPCFAIR_CACHE"):
        beside = _external_data(cache.blob(fetched[network].sha256), network, files)
    fetched |= fetch_files(http, cache, version.origin, [files[path] for path in beside])
    return {"entry_point": network, "files": [asdict(file) for file in fetched.values()]}


def _external_data(local: Path, network: str, paths: Collection[str]) -> list[str]:
    """The paths that the bytes of ``network`` name, relative to its folder.

    An ONNX file names its external data so; to name one file too many costs only a download.
    """
    folder = PurePosixPath(network).parent
    names = {
        str(PurePosixPath(path).relative_to(folder)): path
        for path in paths
        if PurePosixPath(path).is_relative_to(folder)
        and not has_network([path])
        and not path.endswith(_TEXTS)
    }
    if not names or not local.stat().st_size:
        return []
    with local.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return [path for name, path in names.items() if data.find(name.encode()) >= 0]


def _signature(path: Path) -> dict[str, Any]:
    """Inputs and outputs as the runtime reads them from the file."""
    opener = opener_of(path)
    opened = registry.open_isolated if sys.platform == "linux" else registry.open
    runtime = opened(opener.runtime, path, opener.default)
    try:
        sides = {"inputs": runtime.inputs, "outputs": runtime.outputs}
        return {side: [asdict(tensor) for tensor in tensors] for side, tensors in sides.items()}
    finally:
        runtime.close()
