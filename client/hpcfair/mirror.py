"""Mirrors: keeps chosen models of another hub up to date in this one.

Each model is imported as by :mod:`hpcfair.hubimport`, so that a run may be interrupted and repeated
at any point. Nothing is deleted here: what the other hub has no more is only reported.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hpcfair.cache import Cache
from hpcfair.catalogue import search
from hpcfair.config import clean_url
from hpcfair.errors import (
    BadInput,
    HpcfairError,
    HubUnreachable,
    NotFound,
    StorageFailed,
    Unauthenticated,
    Unavailable,
)
from hpcfair.hubevidence import optional, read_evidence, read_live_builds
from hpcfair.hubimport import (
    HubVersion,
    import_version,
    is_news,
    plan_import,
    read_stored_evidence,
)
from hpcfair.importchanges import Changes
from hpcfair.importdestination import current_model
from hpcfair.importrules import ModelImportOptions
from hpcfair.mlmodel import address, with_files
from hpcfair.transport import Transport
from hpcfair.types import File

_NAMESPACE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)/\*")
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
#: Most models of a selection.
_MOST = 100_000

State = Literal["new", "updated", "evidence", "unchanged", "gone", "refused"]


@dataclass(frozen=True, slots=True)
class MirroredModel:
    """What a run did with one model.

    Attributes:
        origin: Its address at the other hub.
        name: The model here.
        state: ``evidence``: the files are unchanged, and measurements, signatures or identifiers
            are new. ``gone``: the other hub has it no more; here it stays.
        changed, deleted: Paths of files.
        reason: Why it is gone or was refused.
        error: The refusal.
    """

    origin: str
    name: str
    state: State
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    reason: str = ""
    error: HpcfairError | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class _Run:
    """One run: both hubs, and where models go."""

    here: Transport
    there: Transport
    cache: Cache
    to: str | None
    options: ModelImportOptions
    is_dry: bool

    def name_of(self, original: str) -> str:
        """The name here of a model there."""
        return f"{self.to}/{original.partition('/')[2]}" if self.to else original

    def original_of(self, url: str) -> str:
        """The name there of the model at an address; empty if it is of another server."""
        hub = f"{self.there.config.url}/"
        return url.removeprefix(hub) if url.startswith(hub) else ""

    def url_of(self, original: str) -> str:
        return f"{self.there.config.url}/{original}"


def mirror(
    here: Transport,
    cache: Cache,
    source: str,
    selection: Sequence[str],
    to: str | None,
    *,
    overwrite: bool,
    is_dry: bool,
) -> Iterator[MirroredModel]:
    """Bring the selected models up to date; see :meth:`hpcfair.Client.mirror`."""
    hub = clean_url(source)
    if hub == here.config.url:
        raise BadInput("A hub is no mirror of itself.", "Name another hub as the source.")
    if not selection:
        raise BadInput("Nothing is selected.", "Name a model, a namespace (lab/*) or a query.")
    with Transport(here.config.for_server(hub)) as there:
        options = ModelImportOptions(overwrite=overwrite)
        run = _Run(here, there, cache, to, options, is_dry)
        names = dict.fromkeys(name for part in selection for name in _selected(run, part))
        for name in names:
            yield _result(run, name)
        yield from _gone(run, selection, names.keys())


def _selected(run: _Run, part: str) -> list[str]:
    """Names at the other hub."""
    if _MODEL.fullmatch(part):
        return [part]
    whole = _NAMESPACE.fullmatch(part)
    if whole:
        hits = search(run.there, run.cache, limit=_MOST, by=whole[1])
        return [hit.name for hit in hits if hit.name.startswith(f"{whole[1]}/")]
    return [hit.name for hit in search(run.there, run.cache, part, limit=_MOST)]


def _result(run: _Run, original: str) -> MirroredModel:
    """Mirror one model. A refusal concerns it only; an outage ends the run."""
    url, name = run.url_of(original), run.name_of(original)
    try:
        return _mirrored(run, original, name)
    except (HubUnreachable, Unavailable, Unauthenticated, StorageFailed):
        raise
    except HpcfairError as error:
        return MirroredModel(url, name, "refused", reason=str(error), error=error)


def _mirrored(run: _Run, original: str, name: str) -> MirroredModel:
    url = run.url_of(original)
    current = current_model(run.here, name)
    try:
        answer = run.there.get(address(original))
    except NotFound:
        if current and current.origin and current.origin["url"] == url:
            return _tombstone(run, name, original, current.origin["revision"])
        raise
    answer = with_files(run.there, original, answer, answer.get("revision"))
    stored = None
    if current and current.origin and current.origin["commit"] == answer["revision"]:
        stored = read_stored_evidence(run.here, name, current.origin["revision"])
    version = _version(run, original, answer, stored["document"] if stored else None)
    plan = plan_import(run.here, version, name, run.options)
    if run.is_dry:
        changes = plan.changes or Changes([])
        changed, deleted = tuple(file.path for file in changes.updated), tuple(changes.deleted)
        is_same = plan.changes is None
        has_news = is_same and is_news(run.here, name, plan.imported, version.evidence)
    else:
        done = import_version(run.here, run.cache, version, plan)
        changed, deleted, has_news = done.changed, done.deleted, done.evidence
    if changed or deleted:
        return MirroredModel(url, name, "updated" if current else "new", changed, deleted)
    return MirroredModel(url, name, "evidence" if has_news else "unchanged")


def _version(run: _Run, original: str, answer: Any, earlier: Any) -> HubVersion:
    oid = str(answer["revision"])
    builds = read_live_builds(run.there, original, oid)
    return HubVersion(
        run.there,
        run.cache,
        tuple(File.from_json(file) for file in answer["files"]),
        str(answer.get("license") or ""),
        answer.get("visibility") == "public" and not answer.get("gated"),
        read_evidence(run.there, original, oid, builds, earlier),
    )


def _gone(run: _Run, selection: Sequence[str], seen: Any) -> Iterator[MirroredModel]:
    """Mirrors here of models that the selected namespaces there have no more."""
    there = {match[1] for part in selection if (match := _NAMESPACE.fullmatch(part))}
    for namespace in sorted({run.to} if run.to and there else there):
        for hit in search(run.here, run.cache, limit=_MOST, by=namespace):
            current = current_model(run.here, hit.name)
            origin = current.origin if current else None
            original = run.original_of(origin["url"]) if origin else ""
            if original in seen or original.partition("/")[0] not in there:
                continue
            if origin and optional(run.there, address(original)) is None:
                yield _tombstone(run, hit.name, original, origin["revision"])


def _tombstone(run: _Run, name: str, original: str, oid: str) -> MirroredModel:
    """A model that the other hub has no more, with the reason that it gave."""
    stored = read_stored_evidence(run.here, name, oid)
    reason = "It was deleted there, or you may no longer read it."
    for item in stored["document"]["identifiers"] if stored else ():
        record = optional(run.there, f"/api/v1/identifiers/{item['ark']}")
        if record and record["withdrawn_at"]:
            reason = f"Withdrawn on {record['withdrawn_at'][:10]}. {record['reason']}".strip()
            break
    return MirroredModel(run.url_of(original), name, "gone", reason=reason)
