"""Pages tell what a network is tested with, and whether its builds still pass."""

import pytest
from django.test import Client

from registry.services.repository.mlmodel import mlmodel_update
from registry.services.results.reproduction import plan_after_search, reproduction_add
from registry.services.work.attempt import job_claim
from registry.states import JobKind, TensorSide
from registry.tables import Build, Graph, TestTensor, User
from tests.factories import store
from tests.hub.pages.conftest import Tuned
from tests.registry import shopfloor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_tuned")]


@pytest.fixture
def tested(tuned: Tuned) -> Tuned:
    """A model with four test sets."""
    for number in range(4):
        for side, name in ((TensorSide.INPUT, "x"), (TensorSide.OUTPUT, "<y>")):
            TestTensor.objects.create(
                graph=Graph.objects.get(),
                number=number,
                side=side,
                index=0,
                name=name,
                blob=store(f"{side} {number}".encode()),
                is_made=True,
            )
    return tuned


def run_again(tuned: Tuned, outcome: str, detail: str = "") -> str:
    """The faster build, by a job; the job's UUID."""
    job = plan_after_search(job_uuid=str(tuned.job.uuid))
    ticket = job_claim(device_name="floor-1", kinds=[JobKind.REPRODUCE], target=shopfloor.SLUG)
    assert ticket is not None
    assert job is not None
    reproduction_add(
        str(Build.objects.get(is_baseline=False).uuid),
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        tools={"python": "3.13.1", "onnxruntime": "1.31.1"},
        outcome=outcome,
        deviation={"max_relative": 2e-6},
        detail=detail,
    )
    return str(job.uuid)


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.content[:500]
    return answer.content.decode()


def test_the_page_of_builds_links_the_test_tensors(client: Client, tested: Tuned) -> None:
    page = text(client, f"{tested.path}/builds")
    oid = Graph.objects.get().revision.oid
    assert f'href="{tested.path}/tests/{oid}/test_data_set_0/input_0.pb"' in page
    assert "Made by the hub" in page
    assert "And 1 more set." in page
    assert "&lt;y&gt;" in page
    assert f"hpcfair reproduce {tested.mlmodel.full_name}" in page
    answer = client.get(f"{tested.path}/tests/{oid}/test_data_set_0/input_0.pb")
    assert b"".join(answer) == b"input 0"  # type: ignore[call-overload]


def test_without_test_tensors_the_page_says_how_to_give_some(client: Client, tuned: Tuned) -> None:
    assert "test_data_set_0/input_0.pb" in text(client, f"{tuned.path}/builds")


def test_behind_a_gate_tensors_are_named_but_not_linked(
    client: Client, tested: Tuned, alice: User
) -> None:
    mlmodel_update(actor=alice, mlmodel=tested.mlmodel, gate="manual")
    page = text(client, f"{tested.path}/builds")
    assert "Test tensors" in page
    assert "/test_data_set_0/input_0.pb" not in page


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("reproduced", "reproduced"), ("differs", "differs"), ("failed", "did not run")],
)
def test_pages_say_whether_a_build_still_passes(
    client: Client, tested: Tuned, outcome: str, said: str
) -> None:
    build = Build.objects.get(is_baseline=False)
    assert "not run yet" in text(client, f"/builds/{build.uuid}")
    job = run_again(tested, outcome, "because <of> that" if outcome != "reproduced" else "")
    for path in (f"{tested.path}/builds", f"/builds/{build.uuid}", f"/jobs/{job}"):
        assert f">{said}</span>" in text(client, path), path
    history = text(client, f"/builds/{build.uuid}")
    assert "onnxruntime 1.31.1" in history
    assert "2.0e-06" in history
    assert ("because &lt;of&gt; that" in history) == (outcome != "reproduced")
