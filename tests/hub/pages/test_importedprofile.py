"""Pages of imported profiles: import by the form, what is refused, the figures, the exports."""

import csv
import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from registry.services.results.build import builds_publish
from registry.services.results.profile import profile_store
from registry.services.results.record import record_add
from registry.tables import Build, ImportedProfile, MLModel
from tests.factories import make_user, member
from tests.registry import shopfloor
from tests.registry.analysis.imports import Bench, trace_of

pytestmark = pytest.mark.django_db
PATH = "/alice/cnn/profiles"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def browser(bench: Bench, client: Client) -> Client:
    """A browser in which alice is signed in."""
    client.force_login(bench.alice)
    return client


def send(client: Client, data: bytes, **values: Any) -> Any:
    given = {"target": "a laptop", "tool_version": "1.31", "environment": "2 threads"} | values
    return client.post(PATH, given | {"file": SimpleUploadedFile("trace.json", data)})


def publish(bench: Bench) -> Build:
    """A build of the network that the hub has profiled: nodes 0 to 3."""
    bench.floor.tune()
    claimed = bench.floor.claim()
    held: dict[str, Any] = {"job_uuid": claimed.job_uuid, "fence": claimed.fence}
    document = shopfloor.document(bench.revision, job=claimed.job_uuid)
    row = shopfloor.build(
        record_add(**held, document=document).pk, is_baseline=True, ratio=1.0, verdict="same"
    )
    builds_publish(**held, builds=[row])
    profile_store(**held, config_sha256=row["config_sha256"], profile=shopfloor.profile())
    return Build.objects.get()


def test_a_profile_is_imported_by_the_form(browser: Client) -> None:
    assert "No imported profiles yet" in browser.get(PATH).content.decode()
    answer = send(browser, trace_of("residual-cnn"))
    row = ImportedProfile.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == f"/profiles/{row.uuid}"
    text = browser.get(answer["Location"]).content.decode()
    assert "not by this hub" in text
    assert "8 of 9" in text
    assert "changes layout or type between calls" in text
    assert "a laptop" in text
    assert "2 threads" in text
    assert f"/profiles/{row.uuid}" in browser.get(PATH).content.decode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "convolutions and products are matched"),
        (b'[{"name": "a_kernel_time", "cat": "Node", "ts": 1, "dur": -5}]', "negative time"),
        (b"%PDF", "not recognised"),
    ],
)
def test_refusals_are_said_at_the_file(browser: Client, data: bytes | None, words: str) -> None:
    answer = send(browser, data or trace_of("transformer"))
    assert answer.status_code == 400
    assert words in answer.content.decode()
    assert not ImportedProfile.objects.exists()


def test_only_members_see_the_form(bench: Bench, client: Client) -> None:
    assert "may write import profiles here" in client.get(PATH).content.decode()
    make_user("bob")
    client.force_login(member("bob"))
    assert send(client, trace_of("residual-cnn")).status_code == 403


def test_profiles_of_private_models_do_not_exist_for_others(bench: Bench, client: Client) -> None:
    row = bench.add()
    assert client.get(f"/profiles/{row.uuid}").status_code == 200
    MLModel.objects.update(visibility="private")
    for path in (f"/profiles/{row.uuid}", f"/profiles/{row.uuid}?format=csv", PATH):
        assert client.get(path).status_code == 404


def test_the_overlay_has_the_shares_of_the_calls(bench: Bench, client: Client) -> None:
    row = bench.add()
    context = client.get(f"/profiles/{row.uuid}").context
    overlay = context["network"].overlay
    assert context["network"].state == "drawn"
    linked = row.call_sites.exclude(nodes=[])
    assert {group["id"] for group in overlay["groups"]} == {str(c.sequence) for c in linked}
    total = sum(call.median_ns for call in row.call_sites.all())
    shares = [100 * call.median_ns / total for call in linked.order_by("sequence")]
    assert [group["value"] for group in overlay["groups"]] == pytest.approx(shares)
    assert {group["grade"] for group in overlay["groups"]} <= {"exact", "inferred", "shared"}


def test_it_is_put_beside_a_build_of_the_hub(bench: Bench, client: Client) -> None:
    row = bench.add()
    assert "has profiled no build" in client.get(f"/profiles/{row.uuid}").content.decode()
    build = publish(bench)
    answer = client.get(f"/profiles/{row.uuid}", {"build": str(build.uuid)})
    comparison = answer.context["comparison"]
    own = sum(site.median_ns for site in build.profile.call_sites.all())
    imported = sum(call.median_ns for call in row.call_sites.all())
    sums = [sum(each.times_ns[number] for each, _ in comparison["rows"]) for number in (0, 1)]
    assert sums == [own, imported]
    assert "Not part of any ranking" in answer.content.decode()
    assert client.get(f"/profiles/{row.uuid}", {"build": str(row.uuid)}).status_code == 404


def test_exports_say_where_they_are_from_and_have_every_call(bench: Bench, client: Client) -> None:
    row = bench.add()
    document = json.loads(client.get(f"/profiles/{row.uuid}?format=json").content)
    assert document["provenance"]["measured_by_this_hub"] is False
    assert document["provenance"]["measured_by"] == "alice"
    assert document["provenance"]["url"].endswith(f"/profiles/{row.uuid}")
    assert len(document["calls"]) == row.call_sites.count()
    text = client.get(f"/profiles/{row.uuid}?format=csv").content.decode()
    lines = [line for line in csv.reader(io.StringIO(text)) if not line[0].startswith("#")]
    assert [int(line[3]) for line in lines[1:]] == [call["median_ns"] for call in document["calls"]]
    trace = json.loads(client.get(f"/profiles/{row.uuid}?format=trace").content)
    assert sum(event["dur"] for event in trace["traceEvents"]) == pytest.approx(
        sum(call["median_ns"] for call in document["calls"]) / 1000
    )
    assert trace["otherData"]["target"] == "a laptop"


def test_an_exported_name_is_no_formula(bench: Bench, client: Client) -> None:
    row = bench.add()
    row.call_sites.filter(sequence=0).update(name="=HYPERLINK(1)")
    assert "'=HYPERLINK(1)" in client.get(f"/profiles/{row.uuid}?format=csv").content.decode()


def test_its_importer_deletes_it(bench: Bench, browser: Client) -> None:
    row = bench.add()
    assert "Delete this profile" in browser.get(f"/profiles/{row.uuid}").content.decode()
    assert browser.post(f"/profiles/{row.uuid}/delete").status_code == 302
    assert not ImportedProfile.objects.exists()
    browser.logout()
    row = bench.add()
    assert "Delete this profile" not in browser.get(f"/profiles/{row.uuid}").content.decode()
    assert browser.post(f"/profiles/{row.uuid}/delete").status_code == 302
    assert ImportedProfile.objects.exists()
