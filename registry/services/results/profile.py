"""Profiles of published builds, stored once by the job that published them."""

import hashlib
from typing import Any

from django.db import models, transaction

from registry.errors import Invalid, NotFound
from registry.ids import SHA256_RE
from registry.scenarios import Scenario
from registry.services.storage.blob import blobs_hold
from registry.services.work.lease import held_job
from registry.tables import Build, CallSite, Kernel, KernelCode, Profile
from registry.validation.texts import check_json, printable

_BATCH = 500
_LARGEST = 2**62
_GRADES = frozenset({"exact", "inferred", "shared"})


def profile_store(
    *, job_uuid: str, fence: int, config_sha256: str, profile: dict[str, Any]
) -> Profile:
    """Store the profile of a build that the job has published.

    If the build has a profile, that is returned unchanged. Texts longer than their columns are
    truncated and end in a digest of the whole text.

    Args:
        config_sha256: Digest of the build's candidate.
        profile: ``method``, ``total_ns``, ``folded``, ``kernels`` (``symbol``, ``workload``,
            ``schedule``, ``code``: kind to blob's SHA-256) and ``call_sites``, in order, as columns
            of :class:`registry.tables.results.profile.CallSite` with ``kernel`` a symbol.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        NotFound: ``build_not_found``.
        Invalid: ``invalid_request``, ``blob_missing``.
    """
    check_json(profile)
    _check(profile)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        builds = Build.objects.filter(
            job=job,
            config_sha256=config_sha256,
            scenario=Scenario.SINGLE_STREAM,
            withdrawn_at=None,
        )
        build = builds.first()
        if build is None:
            detail = f"Job {job_uuid} has not published a build of this configuration."
            raise NotFound("build_not_found", detail)
        stored = Profile.objects.filter(build=build).first()
        if stored is not None:
            return stored
        blobs_hold({sha256 for kernel in profile["kernels"] for sha256 in kernel["code"].values()})
        row = Profile.objects.create(
            build=build,
            method=_truncated(Profile, "method", profile["method"]),
            total_ns=profile["total_ns"],
            folded=profile["folded"],
        )
        _store_call_sites(row, profile["call_sites"], _store_kernels(row, profile["kernels"]))
    return row


def _store_kernels(profile: Profile, kernels: list[dict[str, Any]]) -> dict[str, Kernel]:
    rows = [
        Kernel(
            profile=profile,
            symbol=_truncated(Kernel, "symbol", kernel["symbol"]),
            workload=kernel.get("workload") or "",
            schedule=kernel.get("schedule"),
        )
        for kernel in kernels
    ]
    Kernel.objects.bulk_create(rows, batch_size=_BATCH)
    KernelCode.objects.bulk_create(
        [
            KernelCode(kernel=row, kind=kind, blob_id=sha256)
            for row, kernel in zip(rows, kernels, strict=True)
            for kind, sha256 in sorted(kernel["code"].items())
        ],
        batch_size=_BATCH,
    )
    return {kernel["symbol"]: row for kernel, row in zip(kernels, rows, strict=True)}


def _store_call_sites(
    profile: Profile, sites: list[dict[str, Any]], kernels: dict[str, Kernel]
) -> None:
    texts = ("name", "operator", "precision", "layout", "implementation")
    CallSite.objects.bulk_create(
        [
            CallSite(
                profile=profile,
                sequence=sequence,
                kernel=kernels.get(site.get("kernel") or ""),
                median_ns=site["median_ns"],
                mad_ns=site["mad_ns"],
                runs=site["runs"],
                nodes=site["nodes"],
                **{text: _truncated(CallSite, text, site.get(text) or "") for text in texts},
            )
            for sequence, site in enumerate(sites)
        ],
        batch_size=_BATCH,
    )


def _check(profile: dict[str, Any]) -> None:
    try:
        faults = _faults(profile)
    except (KeyError, TypeError, AttributeError) as error:
        faults = {"profile": f"has another structure: {error!r}"}
    if faults:
        raise Invalid("invalid_request", "The profile cannot be stored.", fields=faults)


def _faults(profile: dict[str, Any]) -> dict[str, str]:
    faults = {}
    symbols = [kernel["symbol"] for kernel in profile["kernels"]]
    if len(set(symbols)) != len(symbols):
        faults["kernels"] = "must have different symbols"
    sha256s = [sha256 for kernel in profile["kernels"] for sha256 in kernel["code"].values()]
    workloads = [kernel["workload"] for kernel in profile["kernels"] if kernel.get("workload")]
    if not all(SHA256_RE.fullmatch(sha256) for sha256 in (*sha256s, *workloads)):
        faults["kernels.code"] = "code and workload must be SHA-256 digests"
    kinds = {kind for kernel in profile["kernels"] for kind in kernel["code"]}
    if any(len(kind) > _length(KernelCode, "kind") for kind in kinds):
        faults["kernels.kind"] = "is too long"
    figures = [profile["total_ns"]]
    for site in profile["call_sites"]:
        figures += [site["median_ns"], site["mad_ns"], site["runs"]]
        figures += [node["index"] for node in site["nodes"]]
        if not {node["grade"] for node in site["nodes"]} <= _GRADES:
            faults["call_sites.nodes"] = f"grade must be one of {', '.join(sorted(_GRADES))}"
        if site.get("kernel") and site["kernel"] not in symbols:
            faults["call_sites.kernel"] = "must be the symbol of one of the kernels"
    figures += profile["folded"]
    if not all(type(figure) is int and 0 <= figure < _LARGEST for figure in figures):
        faults["call_sites"] = "times, runs and nodes must be integers, 0 or more"
    return faults


def _truncated(table: type[models.Model], column: str, text: str) -> str:
    """``text`` without control characters, truncated to the length of its column."""
    text, length = printable(text), _length(table, column)
    if len(text) <= length:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[: length // 2]
    return f"{text[: length - len(digest) - 1]}~{digest}"


def _length(table: type[models.Model], column: str) -> int:
    field = table._meta.get_field(column)  # noqa: SLF001  documented, for all its underscore
    length = getattr(field, "max_length", None)
    assert isinstance(length, int)  # noqa: S101  all of these are CharFields
    return length
