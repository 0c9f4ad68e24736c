"""Which build suits this machine: one question to the hub, and the answer kept for bad days."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from hpcfair import machine
from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_json
from hpcfair.errors import BadInput, HubUnreachable, Unavailable
from hpcfair.mlmodel import address
from hpcfair.paths import checked_name
from hpcfair.precisions import TOLERANCES, Tolerance
from hpcfair.runtimes import registry
from hpcfair.signature import Signature
from hpcfair.transport import Transport
from hpcfair.types import Build, File

#: How far outputs may stray from the float32 reference; a class accepts those before it.


class StaleAnswerWarning(UserWarning):
    """The hub could not be asked; what it said last time is used."""


class PlainModelWarning(UserWarning):
    """No build suits this machine; the plain model is used."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The hub's answer.

    Attributes:
        build: ``None`` if none suits; then ``files`` are the plain model's.
        reason: Why this one, in the hub's words.
        target: What was asked for: the machine's own target, another, or ``None``.
        stale_since: When the hub said so, if it could not be asked now.
    """

    name: str
    revision: str
    build: Build | None
    reason: str
    files: tuple[File, ...]
    entry_point: str
    signature: Signature
    target: str | None
    tolerance: str
    alternatives: tuple[Build, ...] = field(default=())
    record_id: str | None = None
    stale_since: str | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, Any], **known: Any) -> Self:
        build = data.get("build")
        return cls(
            revision=data["revision"],
            build=Build.from_json(build) if build else None,
            reason=str(data.get("reason") or ""),
            files=tuple(File.from_json(item) for item in data["files"]),
            entry_point=data["entry_point"],
            signature=Signature.from_json(data["signature"]),
            alternatives=tuple(Build.from_json(item) for item in data.get("alternatives") or ()),
            record_id=data.get("record_id"),
            **known,
        )


def resolve(
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    tolerance: Tolerance = "exact",
) -> Resolution:
    """Ask for the best build; without a hub, take its last answer to the same question.

    Args:
        target: ``auto``; another target this machine can run; ``None`` for the plain model.

    Raises:
        BadInput: this machine cannot run that target, or there is no such tolerance.
        ModelNotFound, RevisionNotFound: as the classes say.
        HubUnreachable: the hub does not answer and was never asked this before.
    """
    if tolerance not in TOLERANCES:
        raise BadInput(f"There is no tolerance {tolerance!r}.", f"Choose of {TOLERANCES}.")
    here = machine.describe()
    wanted = _target(here, target)
    body = {
        "revision": revision,
        "tolerance": tolerance,
        "machine": {
            "architecture": here.architecture,
            "features": list(here.features if target == "auto" else wanted.features),
            "cores": here.cores,
        },
        # Without a runtime nothing but the plain model can be the answer.
        "runtimes": {} if target is None else registry.installed(),
    }
    key = sha256_of_json({"hub": http.config.url, "name": checked_name(name), **body})
    answer, since = _ask(http, cache, f"{address(name)}/resolve", body, key)
    return Resolution.from_json(
        answer,
        name=name,
        target=None if target is None else wanted.slug,
        tolerance=tolerance,
        stale_since=since,
    )


def _ask(
    http: Transport, cache: Cache, path: str, body: dict[str, Any], key: str
) -> tuple[Mapping[str, Any], str | None]:
    """The answer, and since when it is known if it is not from now."""
    try:
        answer = http.post(path, body, idempotent=True)
    except (HubUnreachable, Unavailable) as error:
        kept = cache.answer(key)
        if kept is None:
            raise
        warnings.warn(
            f"{error.detail} Using the answer of {kept['at']}.", StaleAnswerWarning, stacklevel=5
        )
        return kept["answer"], kept["at"]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    cache.keep_answer(key, {"at": now, "answer": answer})
    return answer, None


def _target(here: machine.Machine, slug: str | None) -> machine.Target:
    own = machine.target_of(here)
    if slug is None or slug in {"auto", own.slug}:
        return own
    every = dict.fromkeys((*machine.TARGETS, *machine.targets_of(here), *machine.GPU_TARGETS))
    named = next((target for target in every if target.slug == slug), None)
    if named is None:
        known = ", ".join(target.slug for target in every)
        raise BadInput(f"There is no target {slug!r}.", f"Known are {known}.")
    lacking = sorted(set(named.features) - set(here.features))
    if named.architecture != here.architecture or lacking:
        what = ", ".join(lacking) or named.architecture
        raise BadInput(f"This machine cannot run {slug}: it lacks {what}.", f"It is {own.slug}.")
    return named
