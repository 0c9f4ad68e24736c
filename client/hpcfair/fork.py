"""Reuse of a model: its files or graph, and a copy of it under another name."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from hpcfair import revision as revisions
from hpcfair.cache import Cache
from hpcfair.errors import BadInput, Corrupt, MissingPackage, NoModelFile, NothingToCommit
from hpcfair.formats import ONNX
from hpcfair.mlmodel import ensure, info
from hpcfair.paths import safe_join
from hpcfair.snapshot import snapshot
from hpcfair.transport import Transport
from hpcfair.types import Revision

Form = Literal["onnx", "path"]


@dataclass(frozen=True, slots=True)
class Reused:
    """The result of reusing a model.

    Attributes:
        model: An ``onnx.ModelProto`` with its weights, or the folder's path.
        folder: The files in the cache; do not change them.
        base: Name of the original model, at revision ``base_revision``.
        fork: The first revision of the copy, if one was published.
    """

    model: Any
    folder: Path
    base: str
    base_revision: str
    fork: Revision | None = None


def reuse(
    http: Transport,
    cache: Cache,
    name: str,
    *,
    as_: Form = "path",
    to: str | None = None,
    revision: str | None = None,
) -> Reused:
    """Get the files of a model; see :meth:`hpcfair.Client.reuse`."""
    if as_ not in ("onnx", "path"):
        raise BadInput(f"There is no form {as_!r}.", "Choose 'onnx' or 'path'.")
    commit, folder = snapshot(http, cache, name, revision)
    paths = [file.path for file in commit.files]
    model = _open_onnx(http, name, folder, paths) if as_ == "onnx" else folder
    fork = None
    if to is not None:
        fork = _copy(http, name, commit, to)
    return Reused(model, folder, name, commit.oid, fork)


def _copy(http: Transport, name: str, source: Revision, to: str) -> Revision:
    """Copy the files, the card among them, on the hub."""
    ensure(http, to)
    try:
        return revisions.copy(http, to, name, source, "main")
    except NothingToCommit:
        return revisions.revision(http, to, "main")


def _open_onnx(http: Transport, name: str, folder: Path, paths: list[str]) -> Any:
    try:
        onnx: Any = import_module("onnx")
    except ImportError as error:
        raise MissingPackage("as_='onnx' needs the onnx package.", "pip install onnx") from error
    graph = info(http, name).graph or {}
    graphs = [path for path in paths if ONNX.matches(path)]
    primary = graph.get("path") if graph.get("path") in graphs else next(iter(graphs), None)
    if primary is None:
        raise NoModelFile(f"{name} has no ONNX file.", "Use as_='path'.")
    try:
        return onnx.load(safe_join(folder, primary))
    # onnx and protobuf raise classes of their own, some of them not public.
    except Exception as error:
        raise Corrupt(
            f"The file {primary} of {name} is no ONNX network: {error}.", "Use as_='path'."
        ) from error
