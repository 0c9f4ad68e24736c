"""Profiles of builds: stored once by the job that made them, with the code of their kernels."""

import copy
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry import schemas
from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.results.profile import (
    call_sites,
    hottest,
    profile_of,
    summary,
)
from registry.selectors.storage.blob import blobs_unreferenced
from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.services.storage.fsck import fsck
from registry.services.storage.gc import gc
from registry.tables import Blob, Build, Profile, ScheduleTask
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

CONFIG = schemas.sha256_of(shopfloor.candidate())
KEY = "c" * 64


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def ticket(floor: Floor) -> JobTicket:
    """A claimed job that has published one build, the baseline."""
    floor.tune()
    claimed = floor.claim()
    held = {"job_uuid": claimed.job_uuid, "fence": claimed.fence}
    document = shopfloor.document(floor.revision, job=claimed.job_uuid)
    record = record_add(**held, document=document)
    build = shopfloor.build(record.pk, is_baseline=True, ratio=1.0, verdict="same")
    builds_publish(**held, builds=[build])
    return claimed


def store(ticket: JobTicket, profile: dict[str, Any], config: str = CONFIG) -> Profile:
    return profile_store(
        job_uuid=ticket.job_uuid, fence=ticket.fence, config_sha256=config, profile=profile
    )


def test_a_profile_comes_back_as_it_was_put_in(ticket: JobTicket) -> None:
    store(ticket, shopfloor.profile())
    found = profile_of(Build.objects.get())
    sites = list(call_sites(found))
    assert [each.name for each in sites] == ["reorder", "stem", "head"]
    assert sites[0].kernel is None
    assert sites[1].kernel == sites[2].kernel
    assert sites[1].kernel is not None
    assert sites[1].kernel.schedule == [["Split", 8]]
    assert [code.kind for code in sites[1].kernel.code.all()] == ["asm"]
    assert [each.name for each in hottest(found, 2)] == ["stem", "head"]


def test_its_parts_are_held_against_the_whole(ticket: JobTicket) -> None:
    told = summary(store(ticket, shopfloor.profile()))
    assert (told["sum_ns"], told["gap_ns"], told["reconciled"]) == (95, 5, True)
    assert told["precisions"] == {"bfloat16": 90, "float32": 5}
    covered = told["coverage"]
    assert (covered.exact, covered.inferred, covered.shared, covered.folded) == (2, 1, 1, 1)
    assert (covered.linked, covered.nodes) == (4, 5)
    Profile.objects.update(total_ns=200)
    assert not summary(Profile.objects.get())["reconciled"]


def test_storing_twice_is_storing_once(ticket: JobTicket) -> None:
    first = store(ticket, shopfloor.profile())
    assert store(ticket, shopfloor.profile(total_ns=7)) == first
    assert Profile.objects.get().total_ns == 100


def test_who_lost_the_lease_stores_nothing(ticket: JobTicket) -> None:
    with pytest.raises(Conflict):
        profile_store(
            job_uuid=ticket.job_uuid, fence=ticket.fence + 1, config_sha256=CONFIG,
            profile=shopfloor.profile(),
        )  # fmt: skip
    with pytest.raises(NotFound, match="has not published a build"):
        store(ticket, shopfloor.profile(), config="d" * 64)
    with pytest.raises(NotFound, match="has no profile"):
        profile_of(Build.objects.get())


def broken(where: str, what: Any) -> dict[str, Any]:
    made = copy.deepcopy(shopfloor.profile())
    *path, last = where.split(".")
    part: Any = made
    for step in path:
        part = part[int(step) if step.isdigit() else step]
    part[int(last) if last.isdigit() else last] = what
    return made


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("total_ns", -1),
        ("total_ns", 1.5),
        ("total_ns", 2**70),
        ("folded", ["first"]),
        ("kernels", None),
        ("kernels.0.code", {"asm": "not a digest"}),
        ("kernels.0.code", {"a very long kind": "a" * 64}),
        ("kernels.0.code", {"asm": "a" * 64}),
        ("kernels.0.workload", "short"),
        ("call_sites.1.kernel", "nobody"),
        ("call_sites.1.median_ns", None),
        ("call_sites.1.nodes", [{"index": 0, "grade": "surely"}]),
        ("call_sites.1.nodes", [{"index": -3, "grade": "exact"}]),
        ("call_sites.1.name", "nul \0 in it"),
        ("method", float("nan")),
    ],
)
def test_what_is_no_profile_is_refused(ticket: JobTicket, where: str, what: Any) -> None:
    with pytest.raises(Invalid):
        store(ticket, broken(where, what))
    assert not Profile.objects.exists()


def test_two_kernels_of_one_symbol_are_refused(ticket: JobTicket) -> None:
    profile = shopfloor.profile()
    profile["kernels"] *= 2
    with pytest.raises(Invalid):
        store(ticket, profile)


def test_long_names_are_cut_and_still_differ(ticket: JobTicket) -> None:
    names = ["n" * 5000 + tail for tail in "ab"]
    sites = [shopfloor.call_site(name, 1, operator="O" * 999, layout="L" * 99) for name in names]
    found = store(ticket, shopfloor.profile(call_sites=sites))
    first, second = call_sites(found)
    assert first.name != second.name
    assert (len(first.name), len(first.operator), len(first.layout)) == (500, 200, 32)


def test_code_of_kernels_and_sources_of_tasks_are_not_garbage(
    ticket: JobTicket, floor: Floor
) -> None:
    store(ticket, shopfloor.profile())
    code = Blob.objects.get(kernel_code__kind="asm")
    task = ScheduleTask.objects.create(
        key=KEY, target=floor.target, toolchain="tvm 1", name="conv", anchor="conv", flops=1.0,
        source=shopfloor.make_blob(b"workload"),
    )  # fmt: skip
    Blob.objects.update(used_at=timezone.now() - timedelta(days=99))
    gc(grace=timedelta(days=1))
    gc(grace=timedelta(0))
    assert not blobs_unreferenced().filter(pk__in=[code.pk, task.source_id]).exists()
    assert Blob.objects.filter(pk__in=[code.pk, task.source_id], condemned_at=None).count() == 2
    Blob.objects.filter(pk=code.pk).update(condemned_at=timezone.now())
    assert "condemned_in_use" in {fault.kind for fault in fsck(quick=True)}
