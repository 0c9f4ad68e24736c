"""What was done with a version and what was built of it, as its record tells it."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache

from registry.fair import codemeta
from registry.fair.activities import Activity
from registry.fair.bom import cyclonedx, spdx
from registry.fair.crate import rocrate
from registry.fair.description import Description
from registry.fair.formats import formats_of
from registry.fair.linked import jsonld
from registry.selectors.fair.description import describe
from registry.services.work.attempt import job_succeed
from registry.states import JobKind, JobState, ReproductionOutcome
from registry.tables import Build, Job, Reproduction, TestTensor, User
from tests.registry import shopfloor
from tests.registry.searched import record, searched_floor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def floor() -> Floor:
    return searched_floor()


def described(floor: Floor) -> Description:
    return describe(floor.revision)


def of_kind(found: Description, kind: str) -> list[Activity]:
    return [one for one in found.activities if one.kind == kind]


def test_builds_stand_with_their_files_tools_and_measurement(floor: Floor) -> None:
    faster, baseline = described(floor).builds
    assert (faster.benchmark.ratio, baseline.is_baseline) == (0.7523, True)
    assert (faster.target, faster.processor) == (shopfloor.SLUG, "Example Processor 8000")
    assert faster.benchmark.baseline == "onnxruntime defaults"
    assert [(one.name, one.purl) for one in faster.tools] == [
        ("onnx", "pkg:pypi/onnx@1.19.0"),
        ("onnxruntime", "pkg:pypi/onnxruntime@1.31.1"),
    ]
    (file,) = faster.files
    assert (file.path, file.role) == ("model.ort", "model")
    assert file.url.endswith(f"/api/v1/builds/{faster.uuid}/files/model.ort")
    assert faster.deviation == {"max_absolute": 1e-6}
    assert faster.reproduced is None


def test_the_network_is_described_with_its_measured_accuracy(floor: Floor) -> None:
    found = described(floor)
    assert found.network is not None
    assert (found.network.parameters, found.categories) == (10, ("plain-cnn",))
    (figure,) = found.evaluations
    assert (figure.metric, figure.value, figure.by) == ("accuracy", 0.98, "hub")


def test_the_tools_of_the_hub_are_no_requirements_of_the_model(floor: Floor) -> None:
    actual = described(floor)
    assert "softwareRequirements" not in jsonld.document(actual)
    crate = {one["@id"]: one for one in rocrate.document(actual)["@graph"]}
    assert "softwareRequirements" not in crate[crate["ro-crate-metadata.json"]["about"]["@id"]]
    assert "softwareRequirements" not in codemeta.document(actual)
    needs = {one["ref"]: one.get("dependsOn") for one in cyclonedx.document(actual)["dependencies"]}
    assert needs[actual.pid] is None
    sources = {
        one["from"]
        for one in spdx.document(actual)["@graph"]
        if one.get("relationshipType") == "dependsOn"
    }
    assert actual.pid not in sources


def test_each_act_is_told_with_its_tools_hardware_and_what_came_of_it(floor: Floor) -> None:
    found = described(floor)
    faster, baseline = found.builds
    (search,) = of_kind(found, "tune")
    assert set(search.generated) == {faster.url, baseline.url}
    assert (search.hardware, search.parameters["trials"]) == (shopfloor.SLUG, 9)
    assert search.seed == 0
    assert "onnxruntime" in {one.name for one in search.tools}
    # The baseline is the file itself: nothing was made.
    (made,) = of_kind(found, "quantise")
    assert (made.generated, made.used) == ((faster.url,), (found.pid,))
    measured = of_kind(found, "benchmark")
    assert {one.generated for one in measured} == {
        (faster.benchmark.url,),
        (baseline.benchmark.url,),
    }
    assert measured[0].environment is not None
    assert measured[0].environment.facts["os"] == "Example Linux 1"
    assert not of_kind(found, "compile")
    urls = [one.url for one in found.activities]
    assert len(set(urls)) == len(urls)
    times = [one.ended for one in found.activities if one.ended]
    assert times == sorted(times)


def test_a_search_that_left_no_build_is_told_with_the_tools_of_its_measurements(
    floor: Floor,
) -> None:
    floor.tune()
    ticket = floor.claim()
    record(floor, ticket.job_uuid, ticket.fence, "quarter")
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"trials": 1})
    (search,) = (one for one in of_kind(described(floor), "tune") if not one.generated)
    assert {"hpcfair-hub", "optuna"} <= {one.name for one in search.tools if one.version}


@pytest.mark.parametrize(
    ("tolerance", "entry_point", "kind"),
    [
        ("int8", "model.xml", "quantise"),
        ("fp16", "model.onnx", "convert"),
        ("exact", "model.xml", "convert"),
        ("exact", "model.onnx", "compile"),
        ("exact", "model.so", "compile"),
    ],
)
def test_a_build_is_made_by_what_was_done_and_for_whom(
    floor: Floor, charlie: User, tolerance: str, entry_point: str, kind: str
) -> None:
    Job.objects.filter(kind=JobKind.TUNE).update(requested_by=charlie)
    rows = Build.objects.filter(is_baseline=False)
    rows.update(tolerance=tolerance, entry_point=entry_point)
    (made,) = of_kind(described(floor), kind)
    assert made.agent is not None
    assert made.agent.name == (charlie.full_name or charlie.username)


def test_an_inspection_is_told_with_its_tools(floor: Floor) -> None:
    assert not of_kind(described(floor), "inspect")
    ended = floor.revision.created_at
    Job.objects.create(
        kind=JobKind.INSPECT,
        revision=floor.revision,
        state=JobState.SUCCEEDED,
        ended_at=ended,
        result={"tools": {"onnx": "1.19.0"}},
    )
    cache.clear()
    (inspection,) = of_kind(described(floor), "inspect")
    assert [one.version for one in inspection.tools] == ["1.19.0"]


def test_a_build_run_again_says_whether_it_agreed(floor: Floor) -> None:
    described(floor)
    build = Build.objects.get(is_baseline=False)
    Reproduction.objects.create(
        build=build,
        toolchain="c" * 64,
        tools={"python": "3.12.1", "onnxruntime": "1.32.0"},
        outcome=ReproductionOutcome.DIFFERS,
    )
    found = described(floor)
    assert [one.reproduced for one in found.builds] == [False, None]
    (again,) = of_kind(found, "reproduce")
    assert again.used == (found.builds[0].url,)
    assert again.parameters == {f"build {build.uuid}": "differs"}
    assert {one.name: one.purl for one in again.tools}["python"] is None


def test_test_tensors_are_files_of_the_version(floor: Floor) -> None:
    blob = shopfloor.make_blob(b"tensor")
    for side in ("output", "input"):
        TestTensor.objects.create(
            graph=floor.graph, number=0, side=side, index=0, name="x", blob=blob, is_made=True
        )
    found = described(floor)
    assert [one.path for one in found.tests] == [
        "test_data_set_0/input_0.pb",
        "test_data_set_0/output_0.pb",
    ]
    assert found.tests[0].url.endswith(f"/tests/{floor.revision.oid}/test_data_set_0/input_0.pb")


def test_every_serialisation_takes_builds_and_acts(floor: Floor) -> None:
    found = described(floor)
    for one in formats_of("model"):
        assert one.render(found)
    assert found.snippet is not None
    compile(found.snippet, "snippet", "exec")
