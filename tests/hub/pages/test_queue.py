"""The pages of a job and of its model say why the job waits."""

import pytest
from django.test import Client
from django.urls import reverse

from registry.states import JobKind
from registry.tables import Job, MLModel
from tests.factories import make_mlmodel, tiny_onnx

pytestmark = pytest.mark.django_db


def test_a_queued_job_says_why_it_waits(client: Client, galaxy: MLModel) -> None:
    make_mlmodel("lab/second", files={"model.onnx": tiny_onnx(features=6)})
    first, second = Job.objects.filter(kind=JobKind.INSPECT).order_by("id")
    pages = [client.get(reverse("job", args=[job.uuid])).text for job in (first, second)]
    assert "position 1 in the queue: next for a free worker" in pages[0]
    assert "position 2 in the queue: 1 job of the same account is ahead" in pages[1]
    assert (
        "1 job of the same account is ahead; expected start in 5 s"
        in client.get("/lab/second").text
    )
