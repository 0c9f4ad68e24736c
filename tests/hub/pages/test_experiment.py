"""Pages of experiments with schedules, and of principles."""

import json
import re

import pytest
from django.test import Client

from registry.selectors.analysis.principle import version_get
from registry.services.analysis.ablation import ablation_add, ablation_submit
from registry.services.analysis.crossapplication import cross_application_add, cross_submit
from registry.services.analysis.principle import principles_compute
from registry.states import JobKind, Visibility
from registry.tables import Job, MLModel, Principle, ScheduleTrial, User
from tests.registry.analysis import workloads
from tests.registry.analysis.planted import search
from tests.registry.analysis.workloads import ablation, claim, comparison, searched

pytestmark = pytest.mark.django_db


@pytest.fixture
def best() -> ScheduleTrial:
    return searched()


def ablated(best: ScheduleTrial) -> None:
    ablation_submit(actor=None, task=best.task)
    ticket = claim(JobKind.ABLATE)
    rows = [
        ablation(best, 0, position=-1, ratio=1.0),
        ablation(best, 1, position=0, alternative=[64, 1, 1, 1], ratio=1.8, reason="not tiled"),
        ablation(best, 2, position=1, alternative=0, ratio=1.0),
        ablation(best, 3, position=1, alternative=3) | {
            "outcome": "invalid", "verdict": "unstable", "seconds": [], "best_seconds": [],
            "ratio": None, "ratio_low": None, "ratio_high": None,
        },
    ]  # fmt: skip
    for row in rows:
        ablation_add(job_uuid=ticket.job_uuid, fence=ticket.fence, ablation=row)


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def test_the_largest_effect_is_a_sentence_and_all_are_a_chart_and_a_table(
    client: Client, best: ScheduleTrial
) -> None:
    ablated(best)
    page = shown(client, f"/workloads/{best.task.uuid}")
    assert re.search(r"Causal: reverting tile of \S.* costs 1\.8× \[1\.8, 1\.8\]\.", page)
    assert 'data-chart="ablation"' in page
    assert "[1, 2, 2, 16] → [64, 1, 1, 1] (not tiled)" in page
    assert "cannot be built" in page
    assert "nothing (control)" in page
    assert "1.764 to 1.836" in page


def test_without_an_ablation_the_page_says_what_follows(
    client: Client, best: ScheduleTrial
) -> None:
    page = shown(client, f"/workloads/{best.task.uuid}")
    assert "No ablation yet." in page
    assert "No other target has a schedule" in page
    assert "<button>Ablate" not in page


def test_owners_have_buttons_and_others_do_not_get_through(
    client: Client, best: ScheduleTrial
) -> None:
    address = f"/workloads/{best.task.uuid}"
    client.force_login(User.objects.create(username="eve"))
    assert client.post(f"{address}/ablate").status_code == 403
    client.force_login(User.objects.get(username="alice"))
    assert "<button>Ablate" in shown(client, address)
    answer = client.post(f"{address}/ablate")
    assert answer.headers["Location"] == f"{address}#effects"
    job = Job.objects.get(kind=JobKind.ABLATE)
    assert str(job.uuid) in shown(client, address)
    # Nothing to take over.
    client.post(f"{address}/cross")
    assert "No other target has a schedule" in shown(client, address)
    assert not Job.objects.filter(kind=JobKind.CROSS).exists()


def test_the_matrix_shows_losses_on_each_target(client: Client, best: ScheduleTrial) -> None:
    other = searched(target="x86-64-v3", decisions=[[2, [1, 4, 2, 8]], [3, 1]])
    cross_submit(actor=None, task=best.task)
    ticket = claim(JobKind.CROSS)
    application = comparison(best, 1.35) | {"source": str(other.uuid)}
    cross_application_add(job_uuid=ticket.job_uuid, fence=ticket.fence, application=application)
    page = shown(client, f"/workloads/{best.task.uuid}")
    assert "<strong>1.35</strong>" in page
    assert "+35 %" in page
    assert "not measured" in page


def test_a_private_workload_is_not_there(client: Client, best: ScheduleTrial) -> None:
    ablated(best)
    MLModel.objects.update(visibility=Visibility.PRIVATE)
    assert client.get(f"/workloads/{best.task.uuid}").status_code == 404
    assert client.get(f"/api/v1/workloads/{best.task.uuid}/ablations").status_code == 404
    client.force_login(User.objects.get(username="alice"))
    assert "not tiled" in shown(client, f"/workloads/{best.task.uuid}")


def test_principles_are_listed_with_what_is_missing_and_published_with_evidence(
    client: Client,
) -> None:
    assert "None yet." in shown(client, "/principles")
    search(0)
    principles_compute()
    page = shown(client, "/principles")
    assert "Being examined" in page
    assert "2 more workloads, 1 more ablation" in page
    for number in (1, 2):
        search(number)
    principles_compute()
    assert "Published" in shown(client, "/principles")
    row = Principle.objects.get(words__endswith="64 iterations, or longer ones, are unrolled")
    page = shown(client, f"/principles/{row.identifier}")
    assert f"sha256:{row.identifier}" in page
    assert page.count('href="/workloads/') >= 6
    # The query of the evidence is not that of the search box.
    assert 'autocomplete="off" value=""' in page
    (document,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page)
    record = json.loads(document)
    assert record["identifier"] == f"urn:sha256:{row.identifier}"
    assert record["license"].endswith("/zero/1.0/")
    assert len(record["isBasedOn"]) == 3
    assert record["creator"]["name"]


def test_a_principle_is_exported_as_json_and_csv(client: Client) -> None:
    search(0)
    principles_compute()
    row = Principle.objects.get(words__endswith="64 iterations, or longer ones, are unrolled")
    document = client.get(f"/principles/{row.identifier}?format=json").json()
    version = version_get(row)
    assert document["query"] == version.query
    assert document["evidence"]["support"] == version.evidence["support"]
    table = client.get(f"/principles/{row.identifier}?format=csv").content.decode()
    assert table.splitlines()[0].startswith("name,workload,target,direction")
    assert "conv0," in table
    answer = client.get(f"/api/v1/principles/{row.identifier}").json()
    assert answer["evidence"]["workloads"] == document["evidence"]["workloads"]
    assert [each["identifier"] for each in client.get("/api/v1/principles").json()["items"]]


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/principles/nothing", 404),
        ("/principles/{}?version=99", 404),
        ("/principles/{}?version=x", 400),
        ("/api/v1/principles/nothing", 404),
        ("/api/v1/principles/{}?version=99", 404),
        ("/api/v1/principles/{}?version=0", 400),
        ("/api/v1/principles?status=splendid", 400),
    ],
)
def test_what_is_not_there_is_refused(client: Client, address: str, status: int) -> None:
    row = Principle.objects.create(
        identifier="a" * 64, statement={}, method={}, anchor="x", words="y", status="examined",
        changed_at="2026-01-01T00:00:00Z",
    )  # fmt: skip
    assert client.get(address.format(row.identifier)).status_code == status


def test_the_api_queues_an_ablation_for_an_owner(client: Client, best: ScheduleTrial) -> None:
    address = f"/api/v1/workloads/{best.task.uuid}/ablations"
    assert client.post(address, content_type="application/json").status_code == 401
    client.force_login(User.objects.get(username="alice"))
    answer = client.post(address, {"budget_s": 20}, content_type="application/json")
    assert answer.status_code == 202, answer.content
    (job,) = answer.json()["items"]
    assert (job["kind"], job["parameters"]["budget_s"]) == ("ablate", 20)
    ablation_rows = workloads.jobs(JobKind.ABLATE)
    assert [str(row.uuid) for row in ablation_rows] == [job["uuid"]]
