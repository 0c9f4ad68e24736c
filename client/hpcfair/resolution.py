"""Asks the hub for the best build for this machine and caches the answer for offline use."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hpcfair import answers, machine
from hpcfair.acceptance import EXACT, Acceptance
from hpcfair.cache import Cache
from hpcfair.errors import BadInput, HubUnreachable, Unavailable
from hpcfair.fromjson import FromJson
from hpcfair.host import Host
from hpcfair.mlmodel import address
from hpcfair.scenarios import SINGLE_STREAM, Scenario
from hpcfair.signature import Signature
from hpcfair.transport import Transport
from hpcfair.tree import find_tree
from hpcfair.types import Build, File
from hpcfair.typingnames import Self


class StaleAnswerWarning(UserWarning):
    """The hub is unreachable; its last answer is used."""


class PlainModelWarning(UserWarning):
    """No build is suitable for this machine; the published model is used."""


@dataclass(frozen=True, slots=True)
class LooserBuild(FromJson):
    """A faster build that laxer limits than the requested ones would bring.

    Attributes:
        tolerance: Its class.
        gain: Median latency of the runtime's defaults over that of the build, in nanoseconds
            ``latency_ns``.
        limits: What to state in place of the requested limits: ``tolerance`` or ``min_accuracy``.
            An older hub states none; then the class is.
        deviation, relative_error: From the unoptimised float32 reference, as in
            :class:`hpcfair.Build`.
        accuracy, accuracy_reference: On labelled samples, of the build and of the reference.
    """

    tolerance: str
    gain: float
    latency_ns: int
    backend: str = ""
    limits: dict[str, str | float] = field(default_factory=dict)
    relative_error: float | None = None
    deviation: dict[str, float] = field(default_factory=dict)
    accuracy: float | None = None
    accuracy_reference: float | None = None

    @property
    def arguments(self) -> str:
        """The limits as arguments of :meth:`hpcfair.Client.load`."""
        limits = self.limits or {"tolerance": self.tolerance}
        return ", ".join(f"{name}={limit!r}" for name, limit in limits.items())


@dataclass(frozen=True, slots=True)
class Resolution:
    """The hub's answer.

    Attributes:
        build: ``None`` if none is suitable; ``files`` are then those of the published model.
        reason: The hub's reason for the choice.
        target: The requested target: that of the machine, another, or ``None``.
        acceptance: The requested limits of the outputs.
        looser: What laxer limits would bring, strictest first; an older hub says none.
        attestation: The hub's signed statement on the build, unverified; ``None`` without one.
        companions: Files of the revision that prepare inputs; an older hub names none.
        cached_since: Time of the answer, if it comes from the cache.
        stale_since: The same, if the hub should have been asked and is unreachable.
    """

    name: str
    revision: str
    build: Build | None
    reason: str
    files: tuple[File, ...]
    entry_point: str
    signature: Signature
    target: str | None
    acceptance: Acceptance
    alternatives: tuple[Build, ...] = field(default=())
    looser: tuple[LooserBuild, ...] = field(default=())
    record_id: str | None = None
    attestation: Mapping[str, Any] | None = None
    companions: tuple[File, ...] = field(default=())
    cached_since: str | None = None
    stale_since: str | None = None

    @property
    def tolerance(self) -> str | float:
        """The requested tolerance class, or the largest relative error."""
        return self.acceptance.tolerance

    @classmethod
    def from_json(cls, data: Mapping[str, Any], **values: Any) -> Self:
        build = data.get("build")
        return cls(
            revision=data["revision"],
            build=Build.from_json(build) if build else None,
            reason=str(data.get("reason") or ""),
            files=tuple(File.from_json(item) for item in data["files"]),
            entry_point=data["entry_point"],
            signature=Signature.from_json(data["signature"]),
            alternatives=tuple(Build.from_json(item) for item in data.get("alternatives") or ()),
            looser=tuple(LooserBuild.from_json(item) for item in data.get("looser") or ()),
            record_id=data.get("record_id"),
            attestation=data.get("attestation"),
            companions=tuple(File.from_json(item) for item in data.get("companions") or ()),
            **values,
        )


def resolve(  # noqa: PLR0913 - each is a decision of its own
    http: Transport,
    cache: Cache,
    name: str,
    *,
    revision: str | None = None,
    target: str | None = "auto",
    acceptance: Acceptance = EXACT,
    scenario: Scenario = SINGLE_STREAM,
    renew: bool = False,
    host: Host | None = None,
) -> Resolution:
    """Request the best build. If the hub is unreachable, use its last answer to the same request,
    or one for another machine whose build runs on this one.

    Args:
        revision: For a commit id whose build is in the cache, the hub is not asked.
        renew: Ask the hub also then.
        host: What the build is to run on; default: this machine.
        target: ``auto``, another target that this machine supports, or ``None`` for the published
            model.

    Raises:
        BadInput: this machine does not support the target.
        ModelNotFound, RevisionNotFound: see the classes.
        HubUnreachable: the hub does not answer, and there is no earlier answer.
    """
    host = host or Host.here()
    here = host.machine
    requested = _target(here, target)
    features = here.features if target == "auto" else requested.features
    body = {
        "revision": revision,
        **acceptance.to_json(),
        # An older hub knows no scenarios.
        **({} if scenario == SINGLE_STREAM else {"scenario": scenario}),
        "machine": _machine(here, features),
        # Without a runtime, only the published model can be the answer.
        "runtimes": {} if target is None else dict(host.runtimes),
    }
    request = answers.request_of(http.config.url, name, body)
    read = partial(
        Resolution.from_json,
        name=name,
        target=None if target is None else requested.slug,
        acceptance=acceptance,
    )
    pinned = None if renew else answers.find_pinned(cache, request)
    if pinned:
        resolution = read(pinned.answer, cached_since=pinned.at)
        # Files that are no longer in the cache may have been replaced on the hub.
        if find_tree(cache, resolution.files):
            return resolution
    ask = partial(http.post, f"{address(name)}/resolve", body, idempotent=True)
    recall = partial(answers.find_usable, cache, request)
    answer, since = _ask_or_recall(ask, recall, stacklevel=6)
    resolution = read(answer, cached_since=since, stale_since=since)
    if since is None:
        answers.keep(cache, request, answer)
    return resolution


def renewed_answer(
    cache: Cache, request: Mapping[str, Any], ask: Callable[[], Any], *, stacklevel: int
) -> tuple[Any, str | None]:
    """The answer of ``ask``, which is kept for later; if the server does not answer, the last one
    with a :class:`StaleAnswerWarning`, and its time.

    Args:
        request: What decides the answer.
        stacklevel: Of the warning: 1 is the caller.
    """
    answer, since = _ask_or_recall(
        ask, lambda: answers.find(cache, request), stacklevel=stacklevel + 2
    )
    if since is None:
        answers.keep_alone(cache, request, answer)
    return answer, since


def _ask_or_recall(
    ask: Callable[[], Any], recall: Callable[[], answers.CachedAnswer | None], *, stacklevel: int
) -> tuple[Any, str | None]:
    """The answer, and its time if it comes from the cache."""
    try:
        return ask(), None
    except (HubUnreachable, Unavailable) as error:
        cached = recall()
        if cached is None:
            raise
        warnings.warn(
            f"{error.detail} Using the answer of {cached.at}.",
            StaleAnswerWarning,
            stacklevel=stacklevel,
        )
        return cached.answer, cached.at


def _machine(here: machine.Machine, features: Sequence[str]) -> dict[str, Any]:
    return {"architecture": here.architecture, "features": list(features), "cores": here.cores}


def _target(here: machine.Machine, slug: str | None) -> machine.TargetDefinition:
    own = machine.target_of(here)
    if slug is None or slug in {"auto", own.slug}:
        return own
    every = dict.fromkeys((*machine.TARGETS, *machine.targets_of(here), *machine.GPU_TARGETS))
    named = next((target for target in every if target.slug == slug), None)
    if named is None:
        slugs = ", ".join(target.slug for target in every)
        raise BadInput(f"There is no target {slug!r}.", f"Known are {slugs}.")
    lacking = sorted(set(named.features) - set(here.features))
    if named.architecture != here.architecture or lacking:
        what = ", ".join(lacking) or named.architecture
        raise BadInput(
            f"This machine cannot run {slug}: it lacks {what}.",
            f"It is {own.slug}. To fetch builds for other machines: hpcfair prefetch",
        )
    return named
