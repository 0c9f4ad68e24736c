"""Further attempts of conversions that were refused, or that nobody asked for."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from registry.services.results.conversion import conversions_retry
from registry.states import FailureClass, JobState
from registry.tables import Job, User
from tests.factories import make_mlmodel
from tests.workers.conversion.folders import stated_weights

pytestmark = pytest.mark.django_db


@pytest.fixture
def refused(alice: User) -> Job:
    """The failed inspection of a folder of transformers."""
    weights = stated_weights(embedding=[2, 2])
    files = {"config.json": '{"model_type": "bert"}', "model.safetensors": weights}
    make_mlmodel("alice/net", actor=alice, files=files)
    job = Job.objects.get()
    fail(job)
    return job


def fail(job: Job, code: str = "not_convertible") -> None:
    Job.objects.filter(pk=job.pk).update(
        state=JobState.FAILED,
        failure_class=FailureClass.INVALID,
        failure_code=code,
        failure_detail="transformers does not know it.",
        ended_at=timezone.now(),
    )


def test_another_converter_tries_once_what_a_former_one_refused(refused: Job) -> None:
    (again,) = conversions_retry("hub 2 torch 2.13")
    assert (again.revision, again.requested_by) == (refused.revision, None)
    assert conversions_retry("hub 2 torch 2.13") == []
    fail(again)
    assert conversions_retry("hub 2 torch 2.13") == []
    assert len(conversions_retry("hub 3 torch 2.13")) == 1


def test_what_a_worker_without_a_converter_refused_is_tried_by_one_that_is_known(
    refused: Job,
) -> None:
    (again,) = conversions_retry("hub 2 torch 2.13")
    fail(again, "converter_missing")
    (last,) = conversions_retry("hub 2 torch 2.13")
    fail(last)
    assert conversions_retry("hub 2 torch 2.13") == []


def test_a_command_queues_what_was_published_before_the_hub_converted(refused: Job) -> None:
    refused.delete()
    out = StringIO()
    call_command("convert", stdout=out)
    assert out.getvalue() == "Queued 1 inspection.\n"
    assert Job.objects.get().revision == refused.revision


def test_writers_have_a_button_that_tries_again(refused: Job, client: Client) -> None:
    button = "<button>Try again</button>"
    page = client.get("/alice/net").content.decode()
    assert "transformers does not know it." in page
    assert button not in page
    client.force_login(User.objects.get(username="alice"))
    assert button in client.get("/alice/net").content.decode()
    response = client.post("/alice/net/inspect")
    again = Job.objects.latest("id")
    assert (response.status_code, response["Location"]) == (302, f"/jobs/{again.uuid}")
    assert again.state == JobState.QUEUED
    assert button not in client.get("/alice/net").content.decode()
