"""Searches on idle devices: which models get them, and when."""

from datetime import timedelta
from typing import Any

import pytest

from registry.selectors.work.improvement import IMPROVEMENT_PRIORITY, KIN_PRIORITY, kin_gains
from registry.services.results.best import best_builds_update
from registry.services.work.improvement import improvements_continue
from registry.services.work.job import job_submit
from registry.services.work.reaper import job_reap
from registry.states import JobKind, JobState
from registry.tables import BestBuild, Job, JobEvent, MLModel, Target, Trial
from tests.registry import shopfloor
from tests.registry.results.test_reproduction import Shop, published

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def searches(settings: Any) -> None:
    settings.IDLE_SEARCHES = 4
    settings.TUNE_BUDGET_S = 40


def shop_of(name: str, downloads: int) -> Shop:
    """A model that was searched, with best builds and downloads."""
    shop = published(name)
    Job.objects.filter(state=JobState.QUEUED).update(state=JobState.CANCELLED)
    mlmodel = shop.floor.revision.mlmodel
    best_builds_update(mlmodel)
    MLModel.objects.filter(pk=mlmodel.pk).update(downloads=downloads)
    return shop


def improve() -> list[str]:
    """Models that get a search now."""
    return [job.revision.mlmodel.full_name for job in improvements_continue()]


def test_an_idle_device_searches_a_downloaded_model_longer() -> None:
    shop = shop_of("alice/net", 12_345)
    job_reap()
    job = Job.objects.get(state=JobState.QUEUED)
    assert (job.kind, job.revision, job.priority) == (
        JobKind.TUNE,
        shop.floor.revision,
        IMPROVEMENT_PRIORITY,
    )
    assert job.parameters == {"budget_s": 80.0}
    messages = JobEvent.objects.filter(job=job).values_list("message", flat=True)
    assert "A device is idle: search 1 of a model with 12,345 downloads." in messages
    # The device is busy now.
    assert improve() == []


def test_each_further_search_is_longer_and_needs_more_downloads() -> None:
    shop = shop_of("alice/net", 0)
    mlmodel = shop.floor.revision.mlmodel
    budgets = []
    for downloads in (0, 1, 3, 4, 16, 63, 64, 10**6):
        MLModel.objects.filter(pk=mlmodel.pk).update(downloads=downloads)
        for job in improvements_continue():
            budgets.append((downloads, job.parameters["budget_s"]))
            Job.objects.filter(pk=job.pk).update(state=JobState.SUCCEEDED)
    assert budgets == [(1, 80.0), (4, 160.0), (16, 240.0), (64, 240.0)]


def test_the_model_that_its_users_wait_longest_for_comes_first() -> None:
    often, slow = shop_of("alice/often", 100), shop_of("alice/slow", 10)
    BestBuild.objects.filter(mlmodel=often.floor.revision.mlmodel).update(p50_ns=10**6)
    BestBuild.objects.filter(mlmodel=slow.floor.revision.mlmodel).update(p50_ns=10**8)
    assert improve() == ["alice/slow"]
    Job.objects.filter(state=JobState.QUEUED).update(state=JobState.SUCCEEDED)
    # Still ten times the value of the other, halved by the first search.
    MLModel.objects.filter(pk=slow.floor.revision.mlmodel_id).update(downloads=4)
    assert improve() == ["alice/slow"]


def test_without_an_idle_device_nothing_is_queued(settings: Any) -> None:
    shop = shop_of("alice/net", 5)
    waiting = shopfloor.floor("alice/other").tune()
    assert improve() == []
    Job.objects.filter(pk=waiting.pk).update(state=JobState.CANCELLED)
    settings.IDLE_SEARCHES = 0
    assert improve() == []
    settings.IDLE_SEARCHES = 1
    assert improve() == [shop.floor.revision.mlmodel.full_name]


# Gains of related targets


def searched_on(target: Target, shop: Shop) -> Job:
    """A search of the shop's model on another target, an hour before its build was published."""
    revision = shop.floor.revision
    job = job_submit(actor=None, kind=JobKind.TUNE, revision=revision, target=target)
    an_hour_ago = shop.fast.created_at - timedelta(hours=1)
    Job.objects.filter(pk=job.pk).update(state=JobState.SUCCEEDED, created_at=an_hour_ago)
    return job


@pytest.fixture
def kin() -> Target:
    """A related target with an idle device."""
    return shopfloor.make_machine("x86-64-avx2", name="kin-1", rank=20)[0]


def test_what_is_fast_on_a_related_target_is_tried_once(kin: Target) -> None:
    shop = shop_of("alice/net", 0)
    searched_on(kin, shop)
    job_reap()
    job = Job.objects.get(state=JobState.QUEUED)
    assert (job.target, job.revision, job.priority) == (kin, shop.floor.revision, KIN_PRIORITY)
    assert job.parameters == {"budget_s": 40.0}
    messages = JobEvent.objects.filter(job=job).values_list("message", flat=True)
    assert (
        "A device is idle: a configuration that is 1.25 times as fast as the defaults on "
        "x86-64-avx512 is tried here." in messages
    )
    Job.objects.filter(pk=job.pk).update(state=JobState.SUCCEEDED)
    assert improve() == []


def test_it_comes_before_longer_searches_of_downloaded_models(kin: Target) -> None:
    shop, popular = shop_of("alice/net", 0), shop_of("alice/popular", 10**6)
    searched_on(kin, shop)
    searched_on(kin, popular)
    BestBuild.objects.filter(mlmodel=popular.floor.revision.mlmodel).update(ratio=1.0)
    BestBuild.objects.create(
        mlmodel=popular.floor.revision.mlmodel,
        target=kin,
        tolerance="exact",
        build=popular.baseline,
        p50_ns=10**9,
        ratio=1.0,
    )
    jobs = improvements_continue()
    assert [job.revision for job in jobs if job.target == kin] == [shop.floor.revision]


@pytest.mark.parametrize("why", ["tried", "searched later", "never searched", "other kind"])
def test_a_gain_that_says_nothing_new_starts_no_search(kin: Target, why: str) -> None:
    shop = shop_of("alice/net", 0)
    if why != "never searched":
        job = searched_on(kin, shop)
    if why == "tried":
        columns = shopfloor.trial(0, config_sha256=shop.fast.config_sha256)
        Trial.objects.create(job=job, target=kin, **columns)
    if why == "searched later":
        Job.objects.filter(pk=job.pk).update(created_at=shop.fast.created_at)
    if why == "other kind":
        Target.objects.filter(pk=kin.pk).update(features=["cuda", "sm_90"])
        kin.refresh_from_db()
    assert kin_gains(kin) == []
