"""What was done with a version and left no build, as its record tells it all the same."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.fair.activities import Activity
from registry.fair.addresses import build_url
from registry.fair.bom import cyclonedx, spdx
from registry.fair.crate import rocrate
from registry.fair.description import Description
from registry.fair.linked import jsonld, provjson
from registry.selectors.fair.description import describe, history
from registry.selectors.repository.revision import revision_get
from registry.services.results.record import record_add
from registry.states import FailureClass, JobKind, JobState
from registry.tables import Build, Job, Record, TestTensor, User
from tests.factories import file_row, make_mlmodel, readme
from tests.registry import shopfloor
from tests.registry.searched import search, searched_floor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db

HUB = "http://127.0.0.1:8000"


@pytest.fixture
def floor() -> Floor:
    return searched_floor()


def described(floor: Floor) -> Description:
    cache.clear()
    return describe(floor.revision)


def of_kind(found: Description, *kinds: str) -> list[Activity]:
    return [one for one in found.activities if one.kind in kinds]


def repeat(floor: Floor, by: User) -> Record:
    """A person measures again what the hub measured."""
    original = Record.objects.earliest("created_at", "pk")
    document = shopfloor.document(floor.revision, "half")
    document["identity"]["kind"] = "reproduction"
    document["environment"]["os"] = "Another Linux 2"
    document["provenance"] = {
        "created_at": "2026-02-01T10:00:00Z",
        "tools": {"hpcfair": "0.1.0"},
        "reproduces": original.pk,
    }
    return record_add(actor=by, document=document)


def inspection(floor: Floor, **columns: Any) -> Job:
    now = timezone.now() + timedelta(seconds=Job.objects.count())
    return Job.objects.create(
        kind=JobKind.INSPECT, revision=floor.revision, ended_at=now, **columns
    )


def test_a_record_and_its_making_are_told_after_the_build_is_gone(floor: Floor) -> None:
    (before,) = of_kind(described(floor), "quantise")
    search(floor, "quarter", finalist="one")
    found = described(floor)
    gone = Build.objects.get(tolerance="int8", withdrawn_at__isnull=False)
    assert [one.uuid for one in found.builds] == [
        str(uuid)
        for uuid in Build.objects.filter(withdrawn_at=None)
        .order_by("ratio", "pk")
        .values_list("uuid", flat=True)
    ]
    makings = {one.url: one for one in of_kind(found, "quantise")}
    assert len(makings) == 2
    assert makings[f"{build_url(HUB, gone.uuid)}#making"] == before
    measured = {one.generated[0]: one for one in of_kind(found, "benchmark")}
    assert set(measured) == {
        f"{HUB}/records/{pk}" for pk in Record.objects.values_list("pk", flat=True)
    }
    assert measured[f"{HUB}/records/{gone.record_id}"].used == (build_url(HUB, gone.uuid),)
    # The finalist that was not published is no build; what was measured is the version.
    alone = [one for one in measured.values() if one.used == (found.pid,)]
    assert len(alone) == 1
    assert len({one.url for one in found.activities}) == len(found.activities)


def test_measurements_are_told_with_machine_environment_protocol_and_seed(floor: Floor) -> None:
    one = of_kind(described(floor), "benchmark")[0]
    assert one.environment is not None
    facts = one.environment.facts
    assert (facts["device"], facts["processor"]) == ("bench-1", "Example Processor 8000")
    assert (facts["os"], facts["sandbox"], facts["cores"]) == (
        "Example Linux 1",
        "landlock+seccomp",
        2,
    )
    assert {tool.purl for tool in one.environment.packages} == {
        "pkg:pypi/onnxruntime@1.31.1", "pkg:pypi/numpy@2.3.0"
    }  # fmt: skip
    assert {tool.name for tool in one.tools} == {"hpcfair-hub", "optuna"}
    assert (one.seed, one.parameters["order"], one.parameters["processes"]) == (0, "ABBA", 2)
    (job,) = Job.objects.filter(kind=JobKind.TUNE)
    assert one.within == f"{HUB}/jobs/{job.uuid}"


def test_builds_tell_quantiles_throughput_memory_and_the_hardware_they_are_for(
    floor: Floor,
) -> None:
    found = described(floor)
    figures = found.builds[0].benchmark
    assert (figures.samples, figures.p90_ns, figures.p95_ns) == (20, 3192279.9, None)
    assert (figures.throughput_per_s, figures.peak_memory_bytes) == (316.67, 96468992)
    assert (figures.energy, figures.by) == (None, "hub")
    (target,) = found.tuned_on
    assert target.url == f"{HUB}/targets/{shopfloor.SLUG}"
    assert (target.facts["cores"], target.facts["features"]) == (2, "avx2 avx512f fma")


def test_what_others_measured_again_is_theirs(floor: Floor, bob: User) -> None:
    before = described(floor)
    record = repeat(floor, bob)
    # Without a word to the cache: it sees what is new.
    found = describe(floor.revision)
    assert (before.repetitions, len(found.repetitions)) == ((), 1)
    (again,) = found.repetitions
    assert (again.id, again.by, again.target) == (record.pk, "third party", shopfloor.SLUG)
    assert again.reproduces == Record.objects.exclude(pk=record.pk).earliest("created_at", "pk").pk
    (act,) = [one for one in of_kind(found, "benchmark") if one.title.startswith("Measure again")]
    assert act.agent is not None
    assert act.agent.name == (bob.full_name or bob.username)
    assert f"{HUB}/records/{again.reproduces}" in act.used
    assert act.environment is not None
    assert act.environment.facts["os"] == "Another Linux 2"


@pytest.mark.parametrize("kind", [JobKind.TUNE, JobKind.SCHEDULE, JobKind.PASSES])
def test_a_search_that_left_no_build_is_told(floor: Floor, kind: JobKind) -> None:
    before = of_kind(described(floor), "tune")
    job = Job.objects.create(
        kind=kind,
        revision=floor.revision,
        target=floor.target,
        device=floor.device,
        state=JobState.SUCCEEDED,
        started_at=timezone.now(),
        ended_at=timezone.now(),
        requested_by=floor.alice,
        parameters={"seed": 7},
        result={"trials": 3, "ended": "nothing better", "tools": {"apache-tvm": "0.27"}},
    )
    (found,) = [one for one in of_kind(described(floor), "tune") if one not in before]
    assert found.url == f"{HUB}/jobs/{job.uuid}"
    assert (found.seed, found.parameters["ended"], found.generated) == (7, "nothing better", ())
    assert [(tool.name, tool.version) for tool in found.tools] == [("apache-tvm", "0.27")]
    assert found.environment is not None
    assert found.environment.facts == {"device": "floor-1"}
    assert found.agent is not None
    assert found.started is not None


def test_the_newest_inspection_tells_of_safety(floor: Floor) -> None:
    assert described(floor).scan is None
    inspection(floor, state=JobState.SUCCEEDED, result={"warnings": ["old.onnx was not read."]})
    scan = described(floor).scan
    assert scan is not None
    assert (scan.is_accepted, scan.findings) == (True, ("old.onnx was not read.",))
    failed = {"state": JobState.FAILED, "failure_class": FailureClass.INVALID}
    why = "It asks for os.system."
    inspection(floor, **failed, failure_code="pickle_unsafe", failure_detail=why)
    scan = described(floor).scan
    assert scan is not None
    assert (scan.is_accepted, scan.findings) == (False, (why,))
    # The network that there is was read by the one before.
    assert len(of_kind(described(floor), "inspect")) == 1
    inspection(floor, **failed, failure_code="no_model_file", failure_detail="There is none.")
    assert described(floor).scan is None


def test_test_tensors_that_the_hub_made_came_of_the_inspection(floor: Floor) -> None:
    inspection(floor, state=JobState.SUCCEEDED, result={"tools": {"onnx": "1.19.0"}})
    for side, is_made in (("input", True), ("output", False)):
        TestTensor.objects.create(
            graph=floor.graph, number=0, side=side, index=0, name="x", is_made=is_made,
            blob=shopfloor.make_blob(side.encode()),
        )  # fmt: skip
    (found,) = of_kind(described(floor), "inspect")
    assert [one.rpartition("/")[2] for one in found.generated] == ["input_0.pb"]


@pytest.mark.parametrize(
    ("relation", "kind", "data"),
    [
        ("finetune", "train", ["https://example.org/data"]),
        ("quantized", "quantise", []),
        ("merge", "merge", []),
        (None, "train", ["https://example.org/data"]),
    ],
)
def test_what_authors_say_they_did_is_told_without_times(
    alice: User, relation: str | None, kind: str, data: list[str]
) -> None:
    bases: dict[str, Any] = {
        "base_model": "https://example.org/base", "base_model_relation": relation
    }  # fmt: skip
    card = readme(
        datasets=["https://example.org/data"],
        co2_eq_emissions={"emissions": 120, "hardware_used": "4 x H200"},
        **(bases if relation else {}),
    )
    made = make_mlmodel("alice/net", actor=alice, files={"README.md": card})
    found = describe(revision_get(made))
    acts: dict[str, Activity] = {one.kind: one for one in found.activities}
    assert acts[kind].ended is None
    assert [one.kind for one in found.activities if found.pid in one.generated] == ["publish"]
    assert acts[kind].url in acts["publish"].informed_by
    (publication,) = [
        one
        for one in jsonld.document(found)["hub:hasActivity"]
        if one["@id"] == acts["publish"].url
    ]
    assert {"@id": acts[kind].url} in publication["prov:wasInformedBy"]
    stated = json.loads(provjson.render(found))
    assert len(stated["wasInformedBy"]) == len(acts["publish"].informed_by)
    assert list(acts[kind].used) == (["https://example.org/base"] if relation else []) + data
    assert "train" in acts
    assert acts["train"].environment is not None
    assert acts["train"].environment.facts == {"hardware": "4 x H200"}
    assert found.activities[0].ended is None


@pytest.mark.parametrize("fitting", ["calibration", "bias_correction", "weight_rounding"])
def test_what_was_fitted_is_told_with_the_samples_it_used(fitting: str, floor: Floor) -> None:
    blob = shopfloor.make_blob(b"samples")
    file_row(floor.revision, "samples.npz", blob)
    row = Build.objects.get(tolerance="int8")
    row.provenance |= {fitting: {"source": "samples", "runs": 16}, "compile_s": 0.8}
    row.save()
    (made,) = of_kind(described(floor), "quantise")
    assert made.used[1].endswith("/samples.npz")
    assert json.loads(str(made.parameters[fitting])) == {"source": "samples", "runs": 16}


def test_of_a_long_past_the_newest_is_told_and_how_much_more_there_was(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MAX_ROWS", 2)
    for threads in ("one", "two", "three"):
        search(floor, threads)
    found = described(floor)
    # Four searches, six builds that were replaced and eight records, two of which live builds have.
    assert found.activities_omitted == (4 - 2) + (6 - 2) + (8 - 2)
    newest = Build.objects.filter(withdrawn_at=None).values_list("record_id", flat=True)
    told = {one for act in of_kind(found, "benchmark") for one in act.generated}
    assert {f"{HUB}/records/{pk}" for pk in newest} <= told


def test_a_long_past_takes_no_more_queries_and_little_more_room(floor: Floor) -> None:
    def told() -> tuple[int, dict[str, int]]:
        cache.clear()
        with CaptureQueriesContext(connection) as asked:
            found = describe(floor.revision)
        forms: dict[str, Callable[[Description], bytes]] = {
            "jsonld": jsonld.render, "rocrate": rocrate.render,
            "cyclonedx": cyclonedx.render, "spdx": spdx.render,
        }  # fmt: skip
        return len(asked), {name: len(render(found)) for name, render in forms.items()}

    queries, sizes = told()
    for number in range(4):
        search(floor, f"search-{number}")
    again, larger = told()
    assert again == queries
    # Each search left four activities more: its own, a build's, and those of two records.
    grown = {name: (size - sizes[name]) / (4 * 4) for name, size in larger.items()}
    # Pages carry this one.
    assert grown["jsonld"] < 2_000
    assert max(grown.values()) < 6_000
