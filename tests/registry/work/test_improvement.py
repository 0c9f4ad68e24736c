"""Searches on idle devices: which models get them, and when."""

from typing import Any

import pytest

from registry.selectors.work.improvement import IMPROVEMENT_PRIORITY
from registry.services.results.best import best_builds_update
from registry.services.work.improvement import improvements_continue
from registry.services.work.reaper import job_reap
from registry.states import JobKind, JobState
from registry.tables import BestBuild, Job, JobEvent, MLModel
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
