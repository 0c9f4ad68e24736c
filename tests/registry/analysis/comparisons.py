"""Published builds with profiles and failed trials, for tests of comparisons."""

from typing import Any

from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_claim, job_succeed
from registry.states import JobKind
from registry.tables import Build
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor, call_site

#: Call sites of a default that computes node by node, and of a build that fuses the first two.
DEFAULT_CALLS = [
    call_site("conv", 60_000, (0, "exact"), precision="float32"),
    call_site("relu", 10_000, (1, "exact"), operator="Relu", precision="float32"),
    call_site("gemm", 30_000, (2, "exact"), operator="Gemm", precision="float32"),
]
FUSED_CALLS = [
    call_site("conv+relu", 20_000, (0, "exact"), (1, "exact"), operator="ConvRelu",
              precision="bfloat16"),
    call_site("gemm", 31_000, (2, "exact"), operator="Gemm", precision="float32"),
]  # fmt: skip


def published(
    floor: Floor,
    *,
    trials: tuple[dict[str, Any], ...] = (),
    calls: dict[str, list[Any]] | None = None,
    document: dict[str, dict[str, Any]] | None = None,
    **builds: dict[str, Any],
) -> list[Build]:
    """The default and a build for each of ``builds``, by its threads.

    Args:
        trials: Trials of the search.
        calls: Threads to the call sites of the build's profile.
        document: Threads to groups that its record has in addition.
    """
    floor.tune()
    held = job_claim(device_name=floor.device.name, kinds=[JobKind.TUNE], target=floor.target.slug)
    assert held is not None
    handle = {"job_uuid": held.job_uuid, "fence": held.fence}
    for trial in trials:
        trial_add(**handle, trial=trial)
    columns = []
    default = {"is_baseline": True, "ratio": 1.0, "verdict": "same", "p50_ns": 4_000_000}
    for threads, more in {"all": default, **builds}.items():
        made = shopfloor.document(floor.revision, threads, job=held.job_uuid)
        made["target"]["slug"] = floor.target.slug
        for group, values in (document or {}).get(threads, {}).items():
            made[group] = made.get(group, {}) | values
        record = record_add(**handle, document=made)
        columns.append(shopfloor.build(record.pk, threads, **more))
    rows = builds_publish(**handle, builds=columns)
    for threads, sites in (calls or {}).items():
        digest = next(one["config_sha256"] for one in columns
                      if one["candidate"]["options"]["threads"] == threads)  # fmt: skip
        total_ns = sum(site["median_ns"] for site in sites)
        stored = shopfloor.profile(call_sites=sites, kernels=[], folded=[3], total_ns=total_ns)
        profile_store(**handle, config_sha256=digest, profile=stored)
    job_succeed(**handle, result={})
    return rows


def failed_trial(number: int, backend: str, outcome: str = "crash", **columns: Any) -> Any:
    """A trial of a backend that failed."""
    candidate = {"backend": backend, "options": {"threads": str(number)}}
    return shopfloor.trial(
        number,
        candidate=candidate,
        config_sha256=shopfloor.schemas.sha256_of(candidate),
        outcome=outcome,
        ratio=None,
        tolerance="",
        **columns,
    )
