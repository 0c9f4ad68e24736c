"""The front page says what is on the hub."""

import pytest
from django.test import Client

from registry.selectors.repository.revision import revision_get
from registry.tables import Build, MLModel, Record
from tests.hub.pages.test_reading import text
from tests.hub.pages.tuning import floor_of, publish
from tests.registry import shopfloor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.mark.usefixtures("tuned_digits")
def test_gains_are_over_any_tolerance_and_the_sample_loads_the_largest(client: Client) -> None:
    page = text(client, "/")
    assert "2.1 times as fast" in page
    assert "answers differ by 1.4 %, accuracy 98.6 of 98.6 %" in page
    assert "17.3 µs" in page
    assert "alice/digits, 2.1 times as fast on x86-64-avx512" in page
    assert "hpcfair.load(&quot;alice/digits&quot;, tolerance=&quot;int8&quot;)" in page


@pytest.mark.usefixtures("tuned_digits")
def test_a_model_is_listed_once_with_its_largest_gain(client: Client, digits: MLModel) -> None:
    publish(floor_of(digits, "arm64-generic"), half={"ratio": 0.25, "p50_ns": 4_000})
    (gain,) = client.get("/").context["gains"]
    assert (gain.target.slug, gain.ratio) == ("arm64-generic", 0.25)


@pytest.mark.parametrize(
    ("columns", "shown", "hidden"),
    [
        ({"verdict": "unstable", "ratio": 0.91}, "inconclusive", "1.1 times as fast"),
        ({"verdict": "faster", "ratio": 0.91}, "1.1 times as fast", "inconclusive"),
        ({"scenario": "offline", "p50_ns": 79_900_000}, "79.9 ms a query", "79.9 ms<"),
    ],
)
def test_a_record_is_listed_with_what_it_proves(
    client: Client,
    tuned_digits: list[Build],
    columns: dict[str, object],
    shown: str,
    hidden: str,
) -> None:
    Record.objects.filter(pk=tuned_digits[0].record_id).update(**columns)
    Record.objects.exclude(pk=tuned_digits[0].record_id).update(verdict="same", ratio=1.0)
    start = '<h2 id="records">'
    panel = text(client, "/").partition(start)[2].partition("</section>")[0]
    assert shown in panel
    assert hidden not in panel


def test_without_gains_the_sample_loads_the_newest_model_that_runs(
    client: Client, digits: MLModel
) -> None:
    shopfloor.make_graph(revision_get(digits))
    page = text(client, "/")
    assert "Load alice/digits" in page
    assert "hpcfair.load(&quot;alice/digits&quot;)" in page


def test_most_used_models_and_running_jobs_are_listed(
    client: Client, digits: MLModel, tuned_digits: list[Build]
) -> None:
    MLModel.objects.filter(pk=digits.pk).update(downloads=7)
    floor = floor_of(digits)
    job = floor.tune()
    floor.claim()
    page = text(client, "/")
    assert "7 downloads" in page
    assert f"/jobs/{job.uuid}" in page
    assert "Tuning for x86-64-avx512" in page
    assert f"/records/{tuned_digits[0].record_id}" in page
