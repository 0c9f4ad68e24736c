"""Pages, API and metadata tell how a model answers queries of many samples."""

from typing import Any

import pytest
from django.test import Client

from registry.errors import Invalid
from registry.tables import Build, Job, MLModel, Record, User
from tests.hub.pages.test_reading import text
from tests.hub.pages.tuning import floor_of, publish, publish_queries

pytestmark = pytest.mark.django_db

PATH = "/alice/digits"
MACHINE = {"architecture": "x86-64", "features": ["avx2", "avx512f"]}


@pytest.fixture
def measured(digits: MLModel) -> list[Build]:
    """Builds for a single stream, and one that is faster offline."""
    publish(floor_of(digits), half={"ratio": 0.5})
    return publish_queries(floor_of(digits), half={"ratio": 0.4})


def resolved(client: Client, **more: Any) -> Any:
    body = {"machine": MACHINE, "runtimes": {"onnxruntime": "1.31.1"}, **more}
    address = "/api/v1/models/alice/digits/resolve"
    answer = client.post(address, body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.usefixtures("measured")
def test_the_page_of_a_model_tells_its_throughput_with_a_chart_and_a_program(
    client: Client,
) -> None:
    page = text(client, PATH)
    assert "Offline throughput" in page
    assert "2.5 times as fast, 1,240 samples/s" in page
    assert "batch 16, one stream per core" in page
    assert "(default 496 samples/s in the same run)" in page
    assert "The default is the best for many samples" not in page
    assert "scenario=&quot;offline&quot;" in page
    assert "m.map(" in page
    assert '"default, 1 stream"' in page
    # The latency above is that of a single stream.
    assert "2 times as fast on x86-64-avx512" in page


@pytest.mark.usefixtures("measured")
def test_the_page_of_a_model_tells_the_time_of_a_query_of_eight_samples(
    client: Client, digits: MLModel
) -> None:
    page = text(client, PATH)
    # The throughput is measured, these queries are not.
    assert page.count("Queries of eight samples are not measured on x86-64-avx512: ") == 1
    faster = {"ratio": 0.5, "p50_ns": 400_000}
    builds = publish_queries(floor_of(digits), scenario="multi-stream", half=faster)
    page = text(client, PATH)
    assert "Queries of eight samples are not measured" not in page
    section = page[page.index('id="queries"') :]
    section = section[: section.index("</section>")]
    assert "2 times as fast, 400 µs a query (default 800 µs in the same run)" in section
    assert "batch 16, one stream per core" in section
    assert "scenario=&quot;multi-stream&quot;" in section
    assert "m.map([x] * 8)" in section
    assert "400 µs a query" in text(client, f"{PATH}/builds")
    build = resolved(client, scenario="multi-stream")["build"]
    assert build["uuid"] in {str(one.uuid) for one in builds}
    assert build["execution"] == {"batch": 16, "streams": "cores"}


@pytest.mark.usefixtures("measured")
def test_a_request_for_queries_of_eight_samples_states_why_they_are_not_measured(
    client: Client,
) -> None:
    answer = resolved(client, scenario="multi-stream")
    assert answer["build"]["scenario"] == "single-stream"
    assert "Queries of eight samples are not measured on x86-64-avx512: " in answer["reason"]
    assert "Search again: hpcfair tune alice/digits" in answer["reason"]


@pytest.mark.usefixtures("measured")
def test_the_page_of_a_target_lists_gains_in_throughput(client: Client) -> None:
    latency, throughput = text(client, "/targets/x86-64-avx512").split('id="throughput"')
    assert "alice/digits" in latency
    assert "2 times as fast" in latency.split('id="gains"')[1]
    assert "batch 16, one stream per core" in throughput
    assert "1,240 samples/s" in throughput
    assert "2.5 times as fast" in throughput
    assert 'href="/alice/digits?target=x86-64-avx512#throughput"' in throughput


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        (
            {"verdict": "unstable", "ratio": 0.386, "ratio_low": 0.25, "ratio_high": 1.25},
            "int8 by onnxruntime was measured 2.6 times as fast, 95 % interval 0.8 to 4 times, ",
        ),
        ({"verdict": "slower", "ratio": 2.59}, "int8 by onnxruntime was 2.6 times as slow."),
        ({"verdict": "same", "ratio": 1.0}, "int8 by onnxruntime was as fast as the default."),
    ],
)
def test_the_page_says_why_the_default_is_the_best_for_many_samples(
    client: Client, digits: MLModel, figures: dict[str, Any], why: str
) -> None:
    publish(floor_of(digits), half={"ratio": 0.5})
    *_, slower = publish_queries(floor_of(digits), half={"ratio": 0.4})
    slower.delete()
    Record.objects.filter(pk=slower.record_id).update(tolerance="int8", **figures)
    page = text(client, PATH)
    assert "The default is the best for many samples so far: no build is proved faster." in page
    assert f"Not proved faster: {why}" in page


def test_the_program_for_many_samples_is_of_single_rows(client: Client, digits: MLModel) -> None:
    floor = floor_of(digits)
    publish(floor, half={"ratio": 0.5})
    offline = publish_queries(floor, half={"ratio": 0.4})
    for record in Record.objects.filter(builds__in=offline):
        record.document["identity"]["inputs"] = [
            {"name": "x", "dtype": "float32", "shape": [18, 3], "distribution": {"kind": "normal"}}
        ]
        Record.objects.filter(pk=record.pk).update(document=record.document)
    page = text(client, PATH)
    program = page[page.index('data-snippet="offline-exact"') :]
    assert "np.zeros((1, 3), np.float32)" in program[: program.index("</details>")]


def unmeasured(reason: str, budget_s: float | None) -> dict[str, object]:
    return {"offline_unmeasured": {"reason": reason, "budget_s": budget_s}}


@pytest.mark.parametrize(
    ("result", "why", "command"),
    [
        (
            unmeasured("40 s do not suffice to prove a gain", 80.0),
            "40 s do not suffice to prove a gain.",
            "hpcfair tune alice/digits --target x86-64-avx512 --budget 80s",
        ),
        (unmeasured("this device computes one sample at a time", None), "at a time.", ""),
        (
            unmeasured("40 s do not suffice to prove a gain", 5000.0),
            "a search of 5000 s may measure it, and this hub allows at most 240 s.",
            "",
        ),
        # Of an older version.
        ({}, "the search does not state why", "--target x86-64-avx512 --budget 40s"),
        ({"offline_unmeasured": "no"}, "the search does not state why", "--budget 40s"),
        ({"offline": "no build is proved faster", "multi_stream": ""}, "", ""),
    ],
)
def test_without_a_measurement_the_page_says_why_and_what_to_do(
    client: Client,
    digits: MLModel,
    settings: Any,
    result: dict[str, object],
    why: str,
    command: str,
) -> None:
    settings.TUNE_BUDGET_S = 40
    publish(floor_of(digits), half={"ratio": 0.5}, result=result)
    page = text(client, PATH)
    assert ("The throughput of many samples is not measured on x86-64-avx512: " in page) == bool(
        why
    )
    assert why in page
    assert ("hpcfair tune" in page) == bool(command)
    assert command in page
    reason = resolved(client, scenario="offline")["reason"]
    assert why in reason
    assert command in reason
    assert "not measured on" not in resolved(client)["reason"]


def test_who_may_write_to_the_model_searches_again_on_its_page(
    client: Client, digits: MLModel, alice: User
) -> None:
    floor = floor_of(digits)
    assert "Offline throughput" not in text(client, PATH)
    publish(floor, half={"ratio": 0.5}, result=unmeasured("it was too short", 60.0))
    button = "Search for 60 s on x86-64-avx512</button>"
    assert button not in text(client, PATH)
    client.force_login(alice)
    assert button in text(client, PATH)
    answer = client.post(f"{PATH}/tune", {"target": floor.target.slug, "budget_s": "60"})
    assert answer.status_code == 302
    job = Job.objects.latest("id")
    assert (job.kind, job.target, job.parameters) == ("tune", floor.target, {"budget_s": 60.0})
    wrong = client.post(f"{PATH}/tune", {"target": floor.target.slug, "budget_s": "long"})
    assert wrong.status_code == 400


def test_the_scenario_decides_which_build_is_loaded(client: Client, measured: list[Build]) -> None:
    offline = resolved(client, scenario="offline")["build"]
    assert offline["execution"] == {"batch": 16, "streams": "cores"}
    assert (offline["scenario"], offline["throughput_per_s"]) == ("offline", 1240.0)
    assert offline["uuid"] in {str(build.uuid) for build in measured}
    single = resolved(client)["build"]
    assert (single["scenario"], single["execution"]) == ("single-stream", None)
    server = resolved(client, scenario="server")
    assert server["build"]["uuid"] == single["uuid"]
    assert "measured in the scenario server" in server["reason"]


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("query", ["sort=throughput", "q=throughput:>500"])
def test_a_search_by_throughput_shows_it_in_place_of_the_latency(
    client: Client, query: str
) -> None:
    card = first_card(client, query)
    assert "1,240 samples/s" in card
    assert "2.5 times as fast" in card
    assert "batch 16, one stream per core, default 496 samples/s" in card
    assert "#throughput" in card
    assert "µs" not in card
    assert " ms" not in card
    assert "samples/s" not in first_card(client, "sort=latency&q=throughput:>500")


def first_card(client: Client, query: str) -> str:
    page = text(client, f"/models?{query}")
    card = page[page.index('class="panel card"') :]
    return card[: card.index("</article>")]


@pytest.mark.usefixtures("measured")
def test_builds_are_listed_by_scenario(client: Client) -> None:
    address = "/api/v1/models/alice/digits/builds"
    for scenario in ("offline", "single-stream"):
        items = client.get(address, {"scenario": scenario}).json()["items"]
        assert {item["scenario"] for item in items} == {scenario}
        assert len(items) == 2


@pytest.mark.usefixtures("measured")
def test_the_metadata_and_the_record_name_the_scenario(client: Client) -> None:
    answer = client.get(PATH, headers={"accept": "application/ld+json"})
    assert '"hub:scenario":"offline"' in answer.content.decode().replace(" ", "")
    record = Build.objects.get(scenario="offline", is_baseline=False).record_id
    assert "a run is a query of 64 samples" in text(client, f"/records/{record}")


def test_builds_and_records_of_many_samples_are_not_shown_as_single_runs(
    client: Client, measured: list[Build]
) -> None:
    builds = text(client, f"{PATH}/builds")
    assert "1,240 samples/s" in builds
    assert "batch 16, one stream per core" in builds
    (faster,) = (build for build in measured if not build.is_baseline)
    build = text(client, f"/builds/{faster.uuid}")
    assert "offline: batch 16, one stream per core" in build
    assert "Median of a query" in build
    assert "median of a query of 64 samples" in text(client, f"/records/{faster.record_id}")
    device = faster.record.device
    assert device is not None
    for path in ("/", "/records", f"{PATH}/builds", f"/devices/{device.uuid}"):
        chips = text(client, path).count('title="The time of a query of many samples">offline<')
        assert chips == len(measured), path


def test_a_record_of_another_scenario_is_no_evidence(digits: MLModel) -> None:
    with pytest.raises(Invalid, match="cannot be published"):
        publish(floor_of(digits), half={"execution": {"batch": 2, "streams": "one"}})
    assert not Build.objects.exists()
