"""Reuse of a model: its files or graph, and a copy of it under another name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from hpcfair import revision as revisions
from hpcfair.cache import Cache
from hpcfair.errors import BadInput, NothingToCommit
from hpcfair.forms import Form, network_paths, open_onnx, open_torch, required_onnx
from hpcfair.mlmodel import ensure
from hpcfair.paths import safe_join
from hpcfair.snapshot import snapshot
from hpcfair.transport import Transport
from hpcfair.types import Revision


@dataclass(frozen=True, slots=True)
class Reused:
    """The result of reusing a model.

    Attributes:
        model: An ``onnx.ModelProto`` with its weights, a PyTorch module, or the folder's path.
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
    if as_ not in get_args(Form):
        raise BadInput(f"There is no form {as_!r}.", f"Choose of {', '.join(get_args(Form))}.")
    commit, folder = snapshot(http, cache, name, revision)
    model = folder if as_ == "path" else _open(http, name, commit, folder, as_)
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


def _open(http: Transport, name: str, commit: Revision, folder: Path, as_: Form) -> Any:
    paths = network_paths(http, name, commit.oid, [file.path for file in commit.files])
    network, program = (safe_join(folder, path) if path else None for path in paths)
    return open_onnx(required_onnx(network)) if as_ == "onnx" else open_torch(network, program)
